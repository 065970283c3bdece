// SPDX-License-Identifier: MIT
// The life of a task. Each has one fiber that drives it from its start to its end, and does all its
// writing to the store, so that the writes of one task never overtake each other. What others want
// of it (cancel) they say in memory, where it takes effect at once: a task taken out of the queue
// cannot start, whatever the store is doing. The body runs inside intercept(), so that a stop ends
// the body and leaves the fiber to store how it ended; the store is called behind shields.

#include <weir/error.hpp>
#include <weir/flow/task_manager.hpp>
#include <weir/spawn.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weir {

namespace detail {

namespace {

const task_manager_options& checked(const task_manager_options& given) {
    const std::string who = "task_manager '" + std::string(given.name) + "': ";
    const auto at_least_one = [&](std::string_view option, std::uint64_t value) {
        if (value == 0 || value > std::uint64_t{1} << 40) {
            throw invalid_argument(who + std::string(option) + " is " + std::to_string(value) +
                                   "; at least 1 is needed, and at most 2^40");
        }
    };
    at_least_one("concurrency", given.concurrency);
    at_least_one("most_pending", given.most_pending);
    at_least_one("event_history", given.event_history);
    at_least_one("store_attempts", given.store_attempts);
    if (given.keep_for < clock::duration::zero()) {
        throw invalid_argument(who + "keep_for is " + std::to_string(given.keep_for.count()) +
                               " ns; 0 or more is needed");
    }
    if (given.store_retry < clock::duration::zero()) {
        throw invalid_argument(who + "store_retry is " + std::to_string(given.store_retry.count()) +
                               " ns; 0 or more is needed");
    }
    return given;
}

// Short, and sorted as the tokens are.
std::string id_from(std::uint64_t token) {
    char digits[16];
    char* const end = std::to_chars(digits, digits + sizeof digits, token, 36).ptr;
    return "t" + std::string(digits, end);
}

}  // namespace

executor& executor_for_blocking(executor* given, std::string_view manager) {
    if (given == nullptr) {
        throw invalid_state("task_manager '" + std::string(manager) +
                            "': a function that is no coroutine would block the loop, and there is "
                            "no executor to run it; set the option executor");
    }
    return *given;
}

task_manager_core::task_manager_core(const task_manager_options& options)
    : name_(checked(options).name),
      concurrency_(options.concurrency),
      most_pending_(options.most_pending),
      keep_(options.keep),
      keep_for_(options.keep_for),
      own_store_(options.store == nullptr ? std::make_unique<memory_task_store>() : nullptr),
      store_(options.store == nullptr ? *own_store_ : *options.store),
      executor_(options.executor),
      store_attempts_(options.store_attempts),
      store_retry_(options.store_retry),
      wall_clock_(options.wall_clock),
      observer_(options.observer),
      feed_(std::make_shared<event_feed>(options.event_history)) {
    quiet_.set();
}

// ---- in
// ------------------------------------------------------------------------------------------

std::optional<refusal> task_manager_core::refuse(refusal_reason why) {
    ++counts_.refused;
    tell("refused");
    const bool for_ever = why != refusal_reason::queue_full;
    return refusal{why, for_ever ? refusal::never : clock::duration::zero()};
}

task<std::optional<refusal>> task_manager_core::submit(core_pointer self, live_pointer fresh) {
    managed_task& record = fresh->record;
    if (self->is_closed_) {
        co_return self->refuse(refusal_reason::shut_down);
    }
    if (!record.id.empty() && self->live_.contains(record.id)) {
        co_return self->refuse(refusal_reason::duplicate);
    }
    if (self->pending() >= self->most_pending_) {
        co_return self->refuse(refusal_reason::queue_full);
    }
    self->sweep();
    record.created_at = self->wall_now();
    // Unlike any other of this process, and, by the time in it, of those before.
    record.token = self->last_token_ =
        std::max(self->last_token_ + 1,
                 static_cast<std::uint64_t>(record.created_at.time_since_epoch().count()));
    if (record.id.empty()) {
        record.id = id_from(record.token);
    }
    if (this_thread.running->extras != nullptr) {
        fresh->locals.emplace(context::copy_of_current());
    }
    const handle<std::optional<refusal>> accepting = spawn(accept(entering(self, fresh)));
    co_return co_await shield(accepting);  // a stop of the submitter leaves it running
}

task_manager_core::entering::entering(core_pointer manager, live_pointer fresh)
    : manager_(std::move(manager)), fresh_(std::move(fresh)) {
    manager_->live_.emplace(fresh_->record.id, fresh_);
    ++manager_->unfinished_;
    manager_->update_quiet();
}

void task_manager_core::entering::accepted() {
    const core_pointer manager = std::move(manager_);
    ++manager->counts_.submitted;
    manager->publish(task_event_kind::submitted, fresh_->record);
    manager->enqueue(fresh_);
}

void task_manager_core::forget(live_task& refused) noexcept {
    refused.phase = task_phase::finished;
    live_.erase(refused.record.id);
    --unfinished_;
    refused.ended.set();
    update_quiet();
}

task<std::optional<refusal>> task_manager_core::accept(entering self) {
    const saved how = co_await shield(self.manager().insert(self.task()->record));
    if (how != saved::yes) {
        co_return self.manager().refuse(refusal_reason::duplicate);
    }
    self.accepted();
    co_return std::nullopt;
}

void task_manager_core::enqueue(const live_pointer& accepted) {
    accepted->phase = task_phase::queued;
    queue_.push_back(accepted);
    if (accepted->cancel_requested || cancels_pending_) {
        cancel_live(accepted, accepted->cancel_requested ? accepted->cancel_reason
                                                         : "the task manager was shut down");
    }
    start_more();
}

void task_manager_core::define(std::string name, named_handler handler) {
    handlers_.insert_or_assign(std::move(name),
                               std::make_shared<named_handler>(std::move(handler)));
}

task_body task_manager_core::body_for(const std::string& name, std::string payload) {
    const auto found = handlers_.find(name);
    if (found == handlers_.end()) {
        return {};
    }
    return [handler = found->second, payload = std::move(payload)](task_context& context) mutable {
        return (*handler)(context, std::move(payload));
    };
}

// ---- running
// -------------------------------------------------------------------------------------

void task_manager_core::start_more() {
    if (std::exchange(is_starting_, true)) {
        return;
    }
    while (running_ < concurrency_ && !queue_.empty()) {
        const live_pointer next = std::move(queue_.front());
        queue_.pop_front();
        next->phase = task_phase::starting;
        ++running_;
        start(drive(driving(shared_from_this(), next, true)), *next);
    }
    is_starting_ = false;
}

// A task that cannot be started, since the loop takes no more, ends with its `driving`.
void task_manager_core::start(task<void> driver, live_task& driven) {
    std::optional<context> locals = std::move(driven.locals);
    if (!locals.has_value()) {
        locals.emplace();  // not those of whoever happens to run now
    }
    spawn_options how;
    how.name = driven.record.name.empty() ? std::string_view(driven.record.id)
                                          : std::string_view(driven.record.name);
    how.context = &*locals;
    try {
        spawn(std::move(driver), how);
    } catch (const misuse&) {
    }
}

task<void> task_manager_core::drive(driving self) {
    task_manager_core& manager = self.manager();
    live_task& driven = *self.task();
    driven.fiber = current_task();
    outcome<bool> begun = co_await intercept(shield(manager.begin(self.task())));
    if (driven.phase == task_phase::finished) {
        co_return;  // it could not be begun, and begin() has seen to its end
    }
    const bool was_stopped = begun.is_stop();
    if (!was_stopped) {
        begun.value();  // throws what begin() threw
    }
    outcome<task_value> ended = outcome<task_value>::from_cancellation(driven.cancel_reason);
    if (!was_stopped && !driven.cancel_requested) {
        driven.phase = task_phase::running;
        outcome<task_value> of_body = co_await intercept(run_body(self));
        const bool stop_beats_value = of_body.has_value() && this_thread.running->has(stop_pending);
        if (!stop_beats_value) {
            ended = std::move(of_body);
        }
    }
    driven.phase = task_phase::finishing;
    driven.body = {};
    managed_task final = manager.final_record(driven, std::move(ended));
    (void)co_await intercept(shield(manager.finish(self.task(), std::move(final))));
}

task<task_value> task_manager_core::run_body(driving& self) {
    task_context context(self.manager(), self.task());
    co_return co_await self.task()->body(context);
}

task<void> task_manager_core::drive_to_cancelled(driving self) {
    live_task& driven = *self.task();
    driven.body = {};
    managed_task final = self.manager().final_record(
        driven, outcome<task_value>::from_cancellation(driven.cancel_reason));
    (void)co_await intercept(shield(self.manager().finish(self.task(), std::move(final))));
}

// The fiber ends, as it should or because the loop does.
void task_manager_core::driven(const live_pointer& ended, bool took_a_slot) noexcept {
    if (took_a_slot) {
        --running_;
    }
    if (ended->phase != task_phase::finished) {
        ended->record.state = task_state::cancelled;
        ++counts_.cancelled;
        ++counts_.unsaved;
        conclude(ended);
    }
    ended->fiber = {};
    ended->body = {};
    start_more();
}

// Nothing more will happen to it.
void task_manager_core::conclude(const live_pointer& ended) noexcept {
    ended->phase = task_phase::finished;
    --unfinished_;
    ended->ended.set();
    update_quiet();
}

void task_manager_core::progress(live_task& of, double fraction, std::string_view message) {
    if (std::isnan(fraction)) {
        throw invalid_argument("task '" + of.record.id + "': the progress is not a number");
    }
    if (of.phase != task_phase::running) {
        return;  // late, from another thread
    }
    of.record.progress = std::clamp(fraction, 0.0, 1.0);
    of.record.message = message;
    publish(task_event_kind::progress, of.record);
    of.progress_is_new = true;
    const auto known = live_.find(of.record.id);
    const bool is_writing = of.progress_writer.valid() && !of.progress_writer.done();
    if (!is_writing && known != live_.end()) {
        of.progress_writer = spawn(write_progress(helping(shared_from_this(), known->second)));
    }
}

}  // namespace detail
}  // namespace weir
