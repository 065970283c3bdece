// SPDX-License-Identifier: MIT
// A job holds one permit of a semaphore from when it is let in until it ends; there are as many
// permits as workers and places in the queue. So whoever waits to submit waits in the semaphore's
// line, and a place is never lost. A worker is not a task of its own: each job runs on a fiber made
// for it, at most so many at a time, and a job that ends starts the next. That makes a job
// cancellable by itself and leaves nothing for a failure to kill. When the pool closes, the permits
// stop being scarce: everybody who waits gets through, and finds it closed.

#include <weir/error.hpp>
#include <weir/flow/worker_pool.hpp>
#include <weir/spawn.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace weir {

namespace detail {

namespace {

// More than anybody could mean: a negative number that became an unsigned one.
constexpr std::size_t most_jobs = std::size_t{1} << 40;

const worker_pool_options& checked(const worker_pool_options& given) {
    const std::string who = "worker_pool '" + std::string(given.name) + "': ";
    if (given.workers == 0 || given.workers > most_jobs) {
        throw invalid_argument(who + "workers is " + std::to_string(given.workers) +
                               "; at least 1 is needed");
    }
    if (given.queue > most_jobs) {
        throw invalid_argument(who + "queue is " + std::to_string(given.queue) +
                               "; at most 2^40 is possible");
    }
    if (given.queue == 0 && given.when_full == when_queue_full::displace_oldest) {
        throw invalid_argument(who + "queue is 0, so nothing can be displaced; use at least 1");
    }
    if (given.keep_results < clock::duration::zero()) {
        throw invalid_argument(who + "keep_results is " +
                               std::to_string(given.keep_results.count()) +
                               " ns; 0 or more is needed");
    }
    return given;
}

}  // namespace

worker_pool_core::worker_pool_core(const worker_pool_options& options)
    : name_(checked(options).name),
      workers_(options.workers),
      when_full_(options.when_full),
      keep_results_(options.keep_results),
      most_results_(options.most_results),
      observer_(options.observer),
      room_(static_cast<std::ptrdiff_t>(options.workers + options.queue)) {
    counts_.workers = options.workers;
}

// ---- in
// ------------------------------------------------------------------------------------------

std::optional<refusal> worker_pool_core::refuse(refusal_reason why) {
    ++counts_.refused;
    tell("refused");
    const bool for_ever = why != refusal_reason::queue_full;
    return refusal{why, for_ever ? refusal::never : clock::duration::zero()};
}

std::optional<refusal> worker_pool_core::check(const job_record& fresh) {
    if (is_closed_) {
        return refuse(refusal_reason::shut_down);
    }
    if (!fresh.id.empty() && find(fresh.id) != nullptr) {
        return refuse(refusal_reason::duplicate);
    }
    return std::nullopt;
}

std::optional<refusal> worker_pool_core::try_enter(const job_pointer& fresh) {
    if (const std::optional<refusal> why = check(*fresh)) {
        return why;
    }
    if (std::optional<semaphore::permit> permit = room_.try_acquire()) {
        permit->detach();
    } else if (when_full_ == when_queue_full::displace_oldest) {
        displace_oldest();
    } else {
        return refuse(refusal_reason::queue_full);
    }
    add(fresh);
    return std::nullopt;
}

task<std::optional<refusal>> worker_pool_core::enter(std::shared_ptr<worker_pool_core> self,
                                                     job_pointer fresh) {
    const bool has_room = !self->room_.locked();
    if (has_room || self->when_full_ == when_queue_full::refuse ||
        self->when_full_ == when_queue_full::displace_oldest) {
        co_return self->try_enter(fresh);
    }
    if (const std::optional<refusal> why = self->check(*fresh)) {
        co_return why;
    }
    if (self->when_full_ == when_queue_full::run_here) {
        co_await run_here(self, fresh);
        co_return std::nullopt;
    }
    semaphore::permit permit = co_await self->room_.acquire();
    if (const std::optional<refusal> why = self->check(*fresh)) {  // much may have happened
        co_return why;
    }
    permit.detach();
    self->add(fresh);
    co_return std::nullopt;
}

void worker_pool_core::admit(const job_pointer& fresh) {
    job_record& job = *fresh;
    if (job.id.empty()) {
        do {
            job.id = std::to_string(++last_id_);
        } while (jobs_.contains(job.id));
    }
    job.submitted_at = now();
    forget_old(job.submitted_at);
    job.pool = weak_from_this();
    jobs_.emplace(job.id, fresh);
    ++counts_.submitted;
}

// A permit is held for it.
void worker_pool_core::add(const job_pointer& admitted) {
    admit(admitted);
    if (this_thread.running != nullptr && this_thread.running->extras != nullptr) {
        admitted->locals.emplace(context::copy_of_current());
    }
    queue_.push_back(admitted);
    start_more();
}

// There is one: all permits are out, and there are more of them than workers.
void worker_pool_core::displace_oldest() {
    const job_pointer oldest = queue_.front();
    queue_.pop_front();
    ++counts_.displaced;
    tell("displaced");
    const refused why({refusal_reason::displaced, clock::duration::zero()},
                      name_ + ": job '" + oldest->id + "'");
    end_unstarted(oldest, &why);  // its permit goes to the newcomer
}

// ---- running
// -------------------------------------------------------------------------------------

void worker_pool_core::start_more() {
    if (std::exchange(is_starting_, true)) {
        return;  // a job that could not be started has ended: the loop below goes on
    }
    while (running_ < workers_ && !queue_.empty()) {
        const job_pointer next = std::move(queue_.front());
        queue_.pop_front();
        start(next);
    }
    is_starting_ = false;
}

void worker_pool_core::start(const job_pointer& next) {
    job_record& job = *next;
    job.status = job_status::running;
    job.started_at = time_now();
    ++running_;
    spawn_options how;
    std::optional<context> locals = std::move(job.locals);
    if (!locals.has_value() && this_thread.running != nullptr &&
        this_thread.running->extras != nullptr) {
        locals.emplace();  // not those of the job that has just ended
    }
    how.context = locals.has_value() ? &*locals : nullptr;
    try {
        any_handle fiber = spawn(run_on_worker(running_job(shared_from_this(), next)), how);
        if (!has_ended(job)) {  // as it may have, on a loop that starts tasks eagerly
            job.fiber = std::move(fiber);
        }
    } catch (const misuse&) {
        // The loop takes no more tasks. The job has ended as cancelled, with its running_job.
    }
}

task<void> worker_pool_core::run_on_worker(running_job self) {
    self.job().fiber = current_task();
    co_await self.job().perform();
}

task<void> worker_pool_core::run_here(std::shared_ptr<worker_pool_core> self, job_pointer fresh) {
    self->admit(fresh);
    ++self->counts_.run_by_caller;
    ++self->run_by_callers_;
    job_record& job = *fresh;
    job.status = job_status::running;
    job.started_at = job.submitted_at;
    cancel_scope scope;
    job.scope = &scope;
    const running_job running(std::move(self), std::move(fresh));
    (void)co_await scope.run(job.perform());
}

// ---- out
// -----------------------------------------------------------------------------------------

bool worker_pool_core::cancel(job_record& job, std::string_view reason) {
    if (has_ended(job)) {
        return false;
    }
    if (job.status == job_status::running) {
        job.cancel_reason = reason;
        if (job.scope != nullptr) {
            job.scope->cancel(reason);
            return true;
        }
        return job.fiber.valid() && job.fiber.cancel(reason);
    }
    const auto place = std::find_if(queue_.begin(), queue_.end(),
                                    [&](const job_pointer& each) { return each.get() == &job; });
    if (place == queue_.end()) {
        return false;  // it has just been taken out, to be cancelled or displaced
    }
    const job_pointer unstarted = *place;
    queue_.erase(place);
    unstarted->cancel_reason = reason;
    cancel_unstarted(unstarted);
    check_idle();
    return true;
}

void worker_pool_core::cancel_unstarted(const job_pointer& job) {
    ++counts_.cancelled;
    end_unstarted(job);
    room_.release();
}

// It is in the queue no more. What it owns is destroyed last, since that may come back here.
void worker_pool_core::end_unstarted(const job_pointer& ended, const refused* why) {
    ended->status = job_status::cancelled;
    keep(ended);
    if (why != nullptr) {
        ended->publish_refusal(*why);
    } else {
        ended->publish();
    }
    ended->locals.reset();
    ended->discard_work();
}

void worker_pool_core::finish(const job_pointer& ended) noexcept {
    job_record& job = *ended;
    job.status = job.ending();
    switch (job.status) {
        case job_status::done:
            ++counts_.done;
            break;
        case job_status::failed:
            ++counts_.failed;
            tell("failed");
            break;
        default:
            ++counts_.cancelled;
    }
    const bool was_on_a_worker = job.scope == nullptr;
    job.scope = nullptr;
    job.fiber = {};
    keep(ended);
    job.publish();
    if (was_on_a_worker) {
        --running_;
        start_more();  // before the permit goes: the queue's head was here before those who wait
        room_.release();
    } else {
        --run_by_callers_;
    }
    job.discard_work();
    check_idle();
}

void worker_pool_core::close(shutdown_mode mode) {
    constexpr std::string_view closing = "the worker pool was shut down";
    const std::shared_ptr<worker_pool_core> alive = shared_from_this();
    if (!is_closed_) {
        is_closed_ = true;
        tell("shut_down");
        constexpr std::ptrdiff_t plenty = std::numeric_limits<std::ptrdiff_t>::max() / 4;
        room_.release(plenty);
    }
    if (mode != shutdown_mode::drain) {
        const std::deque<job_pointer> unstarted = std::exchange(queue_, {});
        for (const job_pointer& each : unstarted) {
            each->cancel_reason = closing;
            cancel_unstarted(each);
        }
    }
    if (mode == shutdown_mode::now) {
        std::vector<job_pointer> running;
        for (const auto& [id, job] : jobs_) {
            if (job->status == job_status::running) {
                running.push_back(job);
            }
        }
        for (const job_pointer& each : running) {
            cancel(*each, closing);
        }
    }
    check_idle();
}

task<void> worker_pool_core::shutdown(std::shared_ptr<worker_pool_core> self, shutdown_mode mode) {
    self->close(mode);
    co_await self->is_idle_.wait();
}

void worker_pool_core::check_idle() {
    if (is_closed_ && running_ == 0 && run_by_callers_ == 0 && queue_.empty()) {
        is_idle_.set();
    }
}

}  // namespace detail
}  // namespace weir
