// SPDX-License-Identifier: MIT
// What a task manager writes to its store and reads from it. A call that throws may have taken
// effect, so before it is given up or repeated the store is asked: a record with this token and
// revision is ours. Old records are removed by one fiber, by their token and revision, so that a
// late removal cannot hit a newer task of the same id.

#include <weir/error.hpp>
#include <weir/flow/task_manager.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::detail {

// ---- writing
// -------------------------------------------------------------------------------------

void task_manager_core::store_failed() noexcept {
    ++counts_.store_errors;
    tell("store_error");
}

task<void> task_manager_core::pause_before_retry(unsigned attempt) {
    const clock::duration longest =
        std::max<clock::duration>(store_retry_, std::chrono::seconds(30));
    clock::duration delay = store_retry_;
    for (unsigned i = 1; i < attempt && delay < longest; ++i) {
        delay *= 2;
    }
    co_await sleep(std::min(delay, longest));
}

// What the store has now, asked for until it answers.
task<outcome<std::optional<managed_task>>> task_manager_core::look_up(const std::string& id) {
    for (unsigned attempt = 1;; ++attempt) {
        outcome<std::optional<managed_task>> there =
            co_await settle([&] { return store_.get(id); });
        if (!there.has_value()) {
            store_failed();
            if (attempt < store_attempts_) {
                co_await pause_before_retry(attempt);
                continue;
            }
        }
        co_return there;
    }
}

task<task_manager_core::saved> task_manager_core::insert(const managed_task& fresh) {
    bool is_uncertain = false;  // an attempt threw: it may have been taken all the same
    for (unsigned attempt = 1;; ++attempt) {
        const outcome<bool> done = co_await settle([&] { return store_.insert(fresh); });
        if (done.has_value() && (done.value() || !is_uncertain)) {
            co_return done.value() ? saved::yes : saved::conflict;
        }
        if (!done.has_value()) {
            is_uncertain = true;
            store_failed();
        }
        const outcome<std::optional<managed_task>> there = co_await look_up(fresh.id);
        if (there.has_value() && there.value().has_value()) {
            co_return there.value()->token == fresh.token ? saved::yes : saved::conflict;
        }
        if (attempt >= store_attempts_ || !there.has_value()) {
            (void)co_await settle([&] { return store_.remove(fresh); });  // in case it is there
            const std::exception_ptr why = done.has_value() ? there.error() : done.error();
            if (why == nullptr) {
                co_return saved::conflict;  // there one moment, gone the next
            }
            std::rethrow_exception(why);
        }
        co_await pause_before_retry(attempt);
    }
}

task<task_manager_core::save_result> task_manager_core::save(const managed_task& next,
                                                             task_state expected) {
    bool is_uncertain = false;
    for (unsigned attempt = 1;; ++attempt) {
        const outcome<bool> done =
            co_await settle([&] { return store_.transition(next, expected); });
        if (done.has_value() && (done.value() || !is_uncertain)) {
            co_return save_result(done.value() ? saved::yes : saved::conflict);
        }
        if (!done.has_value()) {
            is_uncertain = true;
            store_failed();
        }
        const outcome<std::optional<managed_task>> there = co_await look_up(next.id);
        if (there.has_value()) {
            const std::optional<managed_task>& stored = there.value();
            if (stored.has_value() && stored->token == next.token &&
                stored->revision == next.revision && stored->state == next.state) {
                co_return save_result(saved::yes);
            }
            if (done.has_value()) {
                co_return save_result(saved::conflict);
            }
        }
        if (attempt >= store_attempts_ || !there.has_value()) {
            co_return save_result(saved::failed, done.has_value() ? there.error() : done.error());
        }
        co_await pause_before_retry(attempt);
    }
}

task<bool> task_manager_core::begin(const live_pointer& of) {
    managed_task next = of->record;
    next.state = task_state::running;
    next.started_at = wall_now();
    ++next.revision;
    const save_result done = co_await save(next, task_state::pending);
    if (done.how == saved::yes) {
        of->record = std::move(next);
        publish(task_event_kind::started, of->record);
        co_return true;
    }
    // What cannot be recorded is not run.
    of->phase = task_phase::finishing;
    of->body = {};
    std::exception_ptr why = done.error;
    if (why == nullptr) {
        why = std::make_exception_ptr(
            invalid_state("the record of the task was changed by somebody else"));
    }
    managed_task final = final_record(*of, outcome<task_value>::from_error(std::move(why)));
    co_await finish(of, std::move(final));
    co_return false;
}

managed_task task_manager_core::final_record(const live_task& of, outcome<task_value> ended) {
    managed_task made = of.record;
    ++made.revision;
    made.finished_at = wall_now();
    if (ended.has_value()) {
        task_value value = std::move(ended).value();
        made.state = task_state::completed;
        made.progress = 1;
        made.result = std::move(value.text);
        made.value = std::move(value.value);
    } else if (ended.is_cancelled()) {
        made.state = task_state::cancelled;
        made.error = of.cancel_requested ? of.cancel_reason : ended.reason();
    } else {
        made.state = task_state::failed;
        made.exception = ended.error();
        made.error = describe(made.exception);
    }
    return made;
}

task<void> task_manager_core::finish(const live_pointer& of, managed_task final) {
    while (of->progress_writer.valid() && !of->progress_writer.done()) {
        co_await of->progress_writer.wait();
    }
    save_result done = co_await save(final, of->record.state);
    if (done.how == saved::conflict) {
        // A write of ours that we gave up on may have been taken; or somebody else has been here.
        const outcome<std::optional<managed_task>> there = co_await look_up(final.id);
        if (there.has_value() && there.value().has_value()) {
            const managed_task& stored = *there.value();
            if (is_final(stored.state)) {
                final = stored;
                done.how = saved::yes;
            } else if (stored.token == final.token) {
                final.revision = stored.revision + 1;
                done = co_await save(final, stored.state);
            }
        }
    }
    of->record = std::move(final);
    const bool is_saved = done.how == saved::yes;
    counts_.unsaved += is_saved ? 0u : 1u;
    task_event_kind kind = task_event_kind::cancelled;
    if (of->record.state == task_state::completed) {
        ++counts_.completed;
        kind = task_event_kind::completed;
    } else if (of->record.state == task_state::failed) {
        ++counts_.failed;
        kind = task_event_kind::failed;
        tell("failed");
    } else {
        ++counts_.cancelled;
    }
    if (is_saved) {
        live_.erase(of->record.id);  // else it stays, since the store would tell something old
    }
    publish(kind, of->record);
    keep(of->record);
    conclude(of);
}

task<void> task_manager_core::write_progress(helping self) {
    live_task& of = self.task();
    while (std::exchange(of.progress_is_new, false)) {
        const managed_task snapshot = of.record;
        const outcome<void> done =
            co_await settle([&] { return self.manager().store_.save_progress(snapshot); });
        if (!done.has_value()) {
            self.manager().store_failed();  // the next one tells more anyway
        }
    }
}

void task_manager_core::helped(const live_pointer& of) noexcept {
    if (of != nullptr) {
        of->progress_writer = {};
    } else {
        is_sweeping_ = false;
    }
    --helpers_;
    update_quiet();
}

// ---- keeping and forgetting
// ----------------------------------------------------------------------

bool task_manager_core::is_too_old(const managed_task& finished) {
    return finished.finished_at.has_value() && wall_now() - *finished.finished_at >= keep_for_;
}

void task_manager_core::keep(const managed_task& finished) {
    managed_task key;
    key.id = finished.id;
    key.token = finished.token;
    key.revision = finished.revision;
    key.finished_at = finished.finished_at;
    finished_.push_back(std::move(key));
    sweep();
}

bool task_manager_core::has_old() {
    return !finished_.empty() && (finished_.size() > keep_ || is_too_old(finished_.front()));
}

void task_manager_core::sweep() {
    if (is_sweeping_ || loop::current_or_null() == nullptr || !has_old()) {
        return;
    }
    is_sweeping_ = true;
    try {
        spawn(remove_old(helping(shared_from_this(), nullptr)));
    } catch (const misuse&) {
        // The loop takes no more tasks.
    }
}

task<void> task_manager_core::remove_old(helping self) {
    task_manager_core& manager = self.manager();
    while (manager.has_old()) {
        const managed_task key = manager.finished_.front();
        const outcome<bool> done = co_await settle([&] { return manager.store_.remove(key); });
        if (!done.has_value()) {
            manager.store_failed();
            co_return;  // it stays the first in line, for the next time that somebody looks
        }
        manager.finished_.pop_front();
        ++manager.counts_.removed;
        const auto unsaved = manager.live_.find(key.id);
        if (unsaved != manager.live_.end() && unsaved->second->record.token == key.token) {
            manager.live_.erase(unsaved);
        }
    }
}

}  // namespace weir::detail
