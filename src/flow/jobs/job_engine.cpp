// SPDX-License-Identifier: MIT
// A worker is not a fiber of its own: each job runs on a fiber made for it, at most so many at a
// time, and a job that ends starts the next one. So a job can be cancelled by itself, and a job
// that fails takes no worker with it. A cancellation takes effect in memory at once: a queued job
// is taken out of the queue, and so can never start.

#include "flow/jobs/job_engine.hpp"

#include "base/option_checks.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>

#include <algorithm>
#include <vector>

namespace weir::detail {

void check_count(const std::string& owner, std::string_view option, std::uint64_t value,
                 std::uint64_t least) {
    // Larger values are negative numbers that were converted to unsigned ones.
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    if (value < least || value > most) {
        throw_bad_option(owner, option, std::to_string(value),
                         "between " + std::to_string(least) + " and 2^40");
    }
}

void check_not_negative(const std::string& owner, std::string_view option, clock::duration value) {
    if (value < clock::duration::zero()) {
        throw_bad_option(owner, option, value, "0 or more");
    }
}

job_engine::job_engine(const identity& words, std::string_view name, std::size_t workers,
                       observer* observer)
    : words_(words), name_(name), workers_(workers), observer_(observer) {
    idle_.set();
}

// ---- jobs by id ---------------------------------------------------------------------------------

job_engine::job_pointer job_engine::known(std::string_view id) const {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : found->second;
}

void job_engine::admit(const job_pointer& job) {
    job->engine = weak_from_this();
    jobs_.emplace(job->id, job);
    ++unfinished_;
    update_idle();
}

void job_engine::withdraw(job_base& job) noexcept {
    erase(job.id);
    mark_ended(job);
}

void job_engine::erase(std::string_view id) noexcept {
    const auto found = jobs_.find(id);
    if (found != jobs_.end()) {
        jobs_.erase(found);
    }
}

// ---- refusals -----------------------------------------------------------------------------------

std::optional<refusal> job_engine::check(std::string_view id) {
    if (is_closed_) {
        return refuse(refusal_reason::shut_down);
    }
    if (!id.empty() && jobs_.contains(id)) {
        return refuse(refusal_reason::duplicate);
    }
    return std::nullopt;
}

refusal job_engine::refuse(refusal_reason reason) {
    ++refused_;
    report("refused");
    const bool is_temporary = reason == refusal_reason::queue_full;
    return {reason, is_temporary ? clock::duration::zero() : refusal::never};
}

void job_engine::throw_refused(const refusal& reason, std::string_view id) const {
    std::string owner = name_;
    if (!id.empty()) {
        owner.append(": ").append(words_.job_noun).append(" '").append(id).append("'");
    }
    throw refused(reason, owner);
}

void job_engine::report(std::string_view what) const noexcept {
    if (observer_ != nullptr) {
        observer_->on_event({words_.kind, name_, what, time_now()});
    }
}

clock::time_point job_engine::time_now() noexcept {
    loop* const here = loop::current_or_null();
    return here == nullptr ? clock::time_point() : here->now();
}

// ---- running ------------------------------------------------------------------------------------

void job_engine::enqueue(const job_pointer& job) {
    job->stage = job_stage::queued;
    if (job->cancel_requested || cancels_queued_) {
        cancel_queued(job,
                      job->cancel_requested ? std::string(job->cancel_reason) : closing_reason());
        return;
    }
    queue_.push_back(job);
    start_queued();
}

job_engine::job_pointer job_engine::take_oldest_queued() {
    if (queue_.empty()) {
        return nullptr;
    }
    job_pointer oldest = std::move(queue_.front());
    queue_.pop_front();
    return oldest;
}

void job_engine::start_queued() {
    if (std::exchange(is_starting_, true)) {
        return;  // a job that could not be started has ended: the loop below goes on
    }
    while (running_ < workers_ && !queue_.empty()) {
        const job_pointer next = take_oldest_queued();
        next->stage = job_stage::running;
        ++running_;
        on_start(*next);
        start(next, true);
    }
    is_starting_ = false;
}

void job_engine::start(const job_pointer& job, bool on_worker) {
    std::optional<context> locals = std::move(job->locals);
    if (!locals.has_value() && this_thread.running != nullptr &&
        this_thread.running->extras != nullptr) {
        locals.emplace();  // not those of the fiber that happens to start this job
    }
    spawn_options options;
    options.name = job->fiber_name();
    options.context = locals.has_value() ? &*locals : nullptr;
    try {
        any_handle fiber = spawn(run(job_run(shared_from_this(), job, on_worker)), options);
        if (job->stage != job_stage::ended) {  // a loop that starts tasks eagerly may have run it
            job->fiber = std::move(fiber);
        }
    } catch (const misuse&) {
        // The loop takes no more tasks. The job has ended with its job_run.
    }
}

task<void> job_engine::run(job_run self) {
    self.job().fiber = current_task();
    co_await self.job().run();
}

void job_engine::finish(const job_pointer& job, bool on_worker) noexcept {
    job->stage = job_stage::ending;
    job->scope = nullptr;
    job->fiber = {};
    on_end(job);
    if (on_worker) {
        --running_;
        start_queued();
    }
    on_left(*job, on_worker);
    mark_ended(*job);
}

void job_engine::mark_ended(job_base& job) noexcept {
    job.stage = job_stage::ended;
    --unfinished_;
    update_idle();
}

// ---- cancellation and shutdown ------------------------------------------------------------------

bool job_engine::cancel(job_base& job, std::string_view reason) {
    if (job.stage >= job_stage::ending) {
        return false;
    }
    if (job.stage == job_stage::queued) {
        const auto place = std::find_if(queue_.begin(), queue_.end(), [&](const job_pointer& each) {
            return each.get() == &job;
        });
        if (place == queue_.end()) {
            return false;  // close() has just taken it out, to cancel it
        }
        const job_pointer taken = std::move(*place);
        queue_.erase(place);
        cancel_queued(taken, reason);
        return true;
    }
    job.cancel_requested = true;
    job.cancel_reason = reason;
    return job.stage == job_stage::running ? job.stop(reason) : true;
}

void job_engine::cancel_queued(const job_pointer& job, std::string_view reason) {
    job->cancel_requested = true;
    job->cancel_reason = reason;
    job->stage = job_stage::ending;
    on_cancel_queued(job);
}

std::string job_engine::closing_reason() const {
    return "the " + std::string(words_.kind_spoken) + " was shut down";
}

void job_engine::close(shutdown_mode mode) {
    const std::shared_ptr<job_engine> alive = shared_from_this();
    const std::string reason = closing_reason();
    if (!std::exchange(is_closed_, true)) {
        report("shut_down");
        on_close();
    }
    if (mode != shutdown_mode::drain) {
        cancels_queued_ = true;
        const std::deque<job_pointer> queued = std::exchange(queue_, {});
        for (const job_pointer& each : queued) {
            cancel_queued(each, reason);
        }
    }
    if (mode == shutdown_mode::now) {
        std::vector<job_pointer> unfinished;
        for (const auto& [id, job] : jobs_) {
            if (job->stage < job_stage::ending) {
                unfinished.push_back(job);
            }
        }
        for (const job_pointer& each : unfinished) {
            cancel(*each, reason);
        }
    }
    update_idle();
}

task<void> job_engine::wait_idle(std::shared_ptr<job_engine> self) {
    co_await self->idle_.wait();
}

task<void> job_engine::shutdown(std::shared_ptr<job_engine> self, shutdown_mode mode) {
    self->close(mode);
    co_await self->idle_.wait();
}

void job_engine::update_idle() noexcept {
    if (unfinished_ != 0 || activities_ != 0) {
        idle_.clear();
        return;
    }
    idle_.set();
    if (is_closed_) {
        on_idle_after_close();
    }
}

job_engine::activity::activity(std::shared_ptr<job_engine> engine) noexcept
    : engine_(std::move(engine)) {
    ++engine_->activities_;
    engine_->update_idle();
}

job_engine::activity::~activity() {
    if (engine_ != nullptr) {
        --engine_->activities_;
        engine_->update_idle();
    }
}

}  // namespace weir::detail
