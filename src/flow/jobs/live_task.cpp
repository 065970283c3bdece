// SPDX-License-Identifier: MIT
// One fiber drives a task from its start to its end and does all its writing to the store, so that
// the writes of one task never overtake each other. The body runs inside intercept(): a stop ends
// the body and leaves the fiber to store the result; the store is called behind shields. A task
// whose start cannot be stored is not run.

#include "flow/jobs/live_task.hpp"

#include <weir/error.hpp>
#include <weir/spawn.hpp>

#include <algorithm>
#include <cmath>

namespace weir::detail {

task<void> live_task::run() {
    const bool was_cancelled_in_queue = stage == job_stage::ending;
    bool runs = !was_cancelled_in_queue;
    if (runs) {
        outcome<void> begun = co_await intercept(shield(begin()));
        if (is_finished) {
            co_return;  // the start was not stored, and begin() has stored the failure
        }
        const bool was_stopped = begun.is_stop();
        if (!was_stopped) {
            begun.value();  // throws what begin() threw
        }
        runs = !was_stopped && !cancel_requested;
    }
    outcome<task_value> result = outcome<task_value>::from_cancellation(cancel_reason);
    if (runs) {
        runs_body_ = true;
        outcome<task_value> of_body = co_await intercept(run_body());
        runs_body_ = false;
        const bool stop_beats_value = of_body.has_value() && this_thread.running->has(stop_pending);
        if (!stop_beats_value) {
            result = std::move(of_body);
        }
    }
    stage = job_stage::ending;
    body = {};
    (void)co_await intercept(shield(finish(std::move(result))));
}

task<task_value> live_task::run_body() {
    task_context context(shared_from_this());
    co_return co_await body(context);
}

// While the start is being stored, run() finds the request when the store has answered.
bool live_task::stop(std::string_view reason) {
    stop_flag_->is_set.store(true, std::memory_order_relaxed);
    if (runs_body_) {
        fiber.cancel(reason);
    }
    return true;
}

task<void> live_task::begin() {
    managed_task next = record;
    next.state = task_state::running;
    next.started_at = journal_.now();
    ++next.revision;
    const store_client::write_result written =
        co_await store_.transition(next, task_state::pending);
    if (written.status == store_client::write_status::stored) {
        record = std::move(next);
        journal_.publish(task_event_kind::started, record);
        co_return;
    }
    stage = job_stage::ending;
    body = {};
    std::exception_ptr error = written.error;
    if (error == nullptr) {
        error = std::make_exception_ptr(
            invalid_state("another process changed the record of the task"));
    }
    co_await finish(outcome<task_value>::from_error(std::move(error)));
}

managed_task live_task::final_record(outcome<task_value> result) {
    managed_task made = record;
    ++made.revision;
    made.finished_at = journal_.now();
    if (result.has_value()) {
        task_value value = std::move(result).value();
        made.state = task_state::completed;
        made.progress = 1;
        made.result = std::move(value.text);
        made.value = std::move(value.value);
    } else if (result.is_cancelled()) {
        made.state = task_state::cancelled;
        made.error = cancel_requested ? cancel_reason : result.reason();
    } else {
        made.state = task_state::failed;
        made.exception = result.error();
        made.error = describe(made.exception);
    }
    return made;
}

task<void> live_task::finish(outcome<task_value> result) {
    managed_task final = final_record(std::move(result));
    while (progress_writer_.valid() && !progress_writer_.done()) {
        co_await progress_writer_.wait();
    }
    progress_writer_ = {};
    co_await store_final(std::move(final));
    is_finished = true;
    owner_.on_finished(*this);
}

task<void> live_task::store_final(managed_task final) {
    using write_status = store_client::write_status;
    store_client::write_result written = co_await store_.transition(final, record.state);
    if (written.status == write_status::conflict) {
        // Either a write that the client gave up on was stored after all, or another process wrote.
        const outcome<std::optional<managed_task>> found = co_await store_.look_up(final.id);
        if (found.has_value() && found.value().has_value()) {
            const managed_task& stored = *found.value();
            if (is_final(stored.state)) {
                final = stored;
                written.status = write_status::stored;
            } else if (stored.token == final.token) {
                final.revision = stored.revision + 1;
                written = co_await store_.transition(final, stored.state);
            }
        }
    }
    record = std::move(final);
    is_stored = written.status == write_status::stored;
}

// ---- progress -----------------------------------------------------------------------------------

void live_task::progress(double fraction, std::string_view message) {
    if (std::isnan(fraction)) {
        throw invalid_argument("task '" + record.id + "': the progress is not a number");
    }
    if (!runs_body_ || stage != job_stage::running) {
        return;  // too late, from another thread
    }
    record.progress = std::clamp(fraction, 0.0, 1.0);
    record.message = message;
    journal_.publish(task_event_kind::progress, record);
    has_new_progress_ = true;
    const std::shared_ptr<job_engine> manager = engine.lock();
    const bool is_writing = progress_writer_.valid() && !progress_writer_.done();
    if (!is_writing && manager != nullptr) {
        progress_writer_ = spawn(write_progress(shared_from_this(), job_engine::activity(manager)));
    }
}

task<void> live_task::write_progress(std::shared_ptr<live_task> self, job_engine::activity) {
    while (std::exchange(self->has_new_progress_, false)) {
        const managed_task snapshot = self->record;
        co_await self->store_.save_progress(snapshot);
    }
}

}  // namespace weir::detail
