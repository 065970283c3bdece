// SPDX-License-Identifier: MIT
// What one can ask a task manager: by id, in lists, as events, in numbers; and taking over what a
// store has from an earlier process. Live tasks are answered from memory, which has what the store
// has and progress that is on its way there; all others from the store.

#include <weir/error.hpp>
#include <weir/flow/task_manager.hpp>

namespace weir::detail {

// ---- reading
// -------------------------------------------------------------------------------------

task<std::optional<managed_task>> task_manager_core::get(core_pointer self, std::string id) {
    self->sweep();
    const auto live = self->live_.find(id);
    if (live != self->live_.end() && live->second->phase != task_phase::inserting) {
        co_return live->second->record;
    }
    std::optional<managed_task> stored = co_await self->store_.get(id);
    if (stored.has_value() && self->is_too_old(*stored)) {
        co_return std::nullopt;
    }
    co_return stored;
}

task<managed_task> task_manager_core::wait(core_pointer self, std::string id) {
    const auto live = self->live_.find(id);
    if (live != self->live_.end()) {
        const live_pointer awaited = live->second;
        co_await awaited->ended.wait();
        if (is_final(awaited->record.state)) {
            co_return awaited->record;
        }
        throw unknown_task(id);  // the store did not take it
    }
    std::optional<managed_task> stored = co_await get(self, id);
    if (!stored.has_value()) {
        throw unknown_task(id);
    }
    if (!is_final(stored->state)) {
        throw invalid_state("task '" + id + "' is " + std::string(to_string(stored->state)) +
                            ", but not in this process: it can be looked at, not waited for");
    }
    co_return *std::move(stored);
}

task<std::vector<managed_task>> task_manager_core::list(core_pointer self, task_query query) {
    self->sweep();
    const std::string name(query.name);
    const std::string after(query.after);
    query.name = name;
    query.after = after;
    std::vector<managed_task> found = co_await self->store_.list(query);
    std::erase_if(found, [&](const managed_task& each) { return self->is_too_old(each); });
    for (managed_task& each : found) {  // progress that is on its way to the store
        const auto live = self->live_.find(each.id);
        if (live != self->live_.end() && live->second->record.revision == each.revision) {
            each.progress = live->second->record.progress;
            each.message = live->second->record.message;
        }
    }
    co_return found;
}

task<std::size_t> task_manager_core::recover(core_pointer self) {
    std::size_t count = 0;
    std::string after;
    for (;;) {
        task_query query;
        query.after = after;
        const std::vector<managed_task> page = co_await self->store_.list(query);
        if (page.empty()) {
            co_return count;
        }
        after = page.back().id;
        for (const managed_task& each : page) {
            if (is_final(each.state)) {
                if (!self->live_.contains(each.id)) {
                    self->keep(each);
                }
                continue;
            }
            task_body body = self->body_for(each.name, each.payload);
            if (!body || self->live_.contains(each.id) || self->is_closed_) {
                continue;
            }
            auto taken = std::make_shared<live_task>();
            taken->record = each;
            taken->body = std::move(body);
            if (each.state == task_state::running) {
                taken->record.state = task_state::pending;
                taken->record.started_at.reset();
                ++taken->record.revision;
                const save_result done = co_await self->save(taken->record, task_state::running);
                if (done.how != saved::yes) {
                    continue;
                }
            }
            if (self->live_.contains(each.id) || self->is_closed_) {
                continue;
            }
            self->live_.emplace(each.id, taken);
            ++self->unfinished_;
            self->update_quiet();
            self->enqueue(taken);
            ++count;
        }
    }
}

task_events task_manager_core::subscribe(std::optional<std::uint64_t> seen) {
    return task_events(feed_, seen.value_or(feed_->last()));
}

// ---- telling
// -------------------------------------------------------------------------------------

void task_manager_core::publish(task_event_kind kind, const managed_task& about) {
    task_event made;
    made.kind = kind;
    made.id = about.id;
    made.name = about.name;
    made.at = wall_now();
    made.progress = about.progress;
    made.message = kind == task_event_kind::failed || kind == task_event_kind::cancelled
                       ? about.error
                       : about.message;
    feed_->publish(std::move(made));
}

wall_time task_manager_core::wall_now() {
    if (wall_clock_) {
        return wall_clock_();
    }
    const clock::time_point now = weir::now();
    if (!wall_base_.has_value()) {
        const bool is_simulated = loop::current().get_driver().is_simulated();
        wall_base_.emplace(is_simulated ? wall_time() : std::chrono::system_clock::now(), now);
    }
    return wall_base_->first + (now - wall_base_->second);
}

void task_manager_core::tell(std::string_view what) noexcept {
    if (observer_ != nullptr) {
        loop* const here = loop::current_or_null();
        observer_->on_event(
            {"task_manager", name_, what, here == nullptr ? clock::time_point() : here->now()});
    }
}

void task_manager_core::throw_refused(const refusal& why, std::string_view id) const {
    std::string who = name_;
    if (!id.empty()) {
        who.append(": task '").append(id).append("'");
    }
    throw refused(why, who);
}

task_manager_stats task_manager_core::stats() const noexcept {
    task_manager_stats now = counts_;
    now.running = running_;
    now.pending = pending();
    now.kept = finished_.size();
    return now;
}

void task_manager_core::write_metrics(metric_writer& to) const {
    const task_manager_stats now = stats();
    const metric_label name{"name", name_};
    const auto count = [&](std::string_view what, std::uint64_t value) {
        to.counter("weir_task_manager_tasks_total", "Tasks by what became of them.",
                   {name, {"outcome", what}}, static_cast<double>(value));
    };
    count("completed", now.completed);
    count("failed", now.failed);
    count("cancelled", now.cancelled);
    count("refused", now.refused);
    to.counter("weir_task_manager_submitted_total", "Tasks that were accepted.", {name},
               static_cast<double>(now.submitted));
    to.counter("weir_task_manager_store_errors_total", "Calls of the store that failed.", {name},
               static_cast<double>(now.store_errors));
    to.gauge("weir_task_manager_pending", "Tasks that wait for their turn.", {name},
             static_cast<double>(now.pending));
    to.gauge("weir_task_manager_running", "Tasks that run.", {name},
             static_cast<double>(now.running));
    to.gauge("weir_task_manager_kept", "Finished tasks that are kept.", {name},
             static_cast<double>(now.kept));
}

}  // namespace weir::detail
