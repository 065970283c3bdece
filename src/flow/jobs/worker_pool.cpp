// SPDX-License-Identifier: MIT
// A job holds one permit of a semaphore from its acceptance to its end; there are as many permits
// as workers and places in the queue. So submitters that wait for room wait in the semaphore's
// line, and no place is ever lost. When the pool closes, it releases plenty of permits: every
// waiting submitter gets through and finds the pool closed. Running and queueing is the job
// engine's part.

#include "flow/jobs/job_engine.hpp"
#include "flow/jobs/retention.hpp"

#include <weir/error.hpp>
#include <weir/flow/worker_pool.hpp>
#include <weir/loop.hpp>
#include <weir/sync/semaphore.hpp>

#include <limits>
#include <vector>

namespace weir {

namespace detail {

namespace {

constexpr job_engine::identity worker_pool_words{"worker_pool", "worker pool", "job"};

const worker_pool_options& checked(const worker_pool_options& given) {
    const std::string owner = "worker_pool '" + std::string(given.name) + "'";
    check_count(owner, "workers", given.workers, 1);
    check_count(owner, "queue", given.queue, 0);
    if (given.queue == 0 && given.when_full == when_queue_full::displace_oldest) {
        throw invalid_argument(owner + ": queue is 0, so no job can be displaced; use at least 1");
    }
    check_not_negative(owner, "keep_results", given.keep_results);
    return given;
}

}  // namespace

class worker_pool_core final : public job_engine {
public:
    using worker_job_pointer = std::shared_ptr<worker_job>;

    explicit worker_pool_core(const worker_pool_options& options)
        : job_engine(worker_pool_words, checked(options).name, options.workers, options.observer),
          when_full_(options.when_full),
          finished_(options.most_results, options.keep_results),
          room_(static_cast<std::ptrdiff_t>(options.workers + options.queue)) {
        counts_.workers = options.workers;
    }

    // Accepts the job, or says why not.
    std::optional<refusal> try_add(const worker_job_pointer& job);
    static task<std::optional<refusal>> add(std::shared_ptr<worker_pool_core> self,
                                            worker_job_pointer job);
    worker_job_pointer find(std::string_view id);  // null: unknown

    worker_pool_stats stats() const noexcept {
        worker_pool_stats now = counts_;
        now.refused = refused_count();
        now.queued = queued();
        now.running = running();
        now.kept = finished_.size();
        return now;
    }

private:
    std::optional<refusal> check_id(const worker_job& job);
    void accept(const worker_job_pointer& job);
    void accept_and_enqueue(const worker_job_pointer& job);
    void displace_oldest();
    static task<void> run_here(std::shared_ptr<worker_pool_core> self, worker_job_pointer job);
    void end_unstarted(const worker_job_pointer& job, const refused* displaced);
    void keep(const worker_job_pointer& job);
    void forget_old(clock::time_point now);

    void on_start(job_base& job) noexcept override;
    void on_cancel_queued(const job_pointer& job) override;
    void on_end(const job_pointer& job) noexcept override;
    void on_left(job_base& job, bool was_on_worker) noexcept override;
    void on_close() override { room_.release(std::numeric_limits<std::ptrdiff_t>::max() / 4); }

    when_queue_full when_full_;
    retention<worker_job_pointer, clock::time_point> finished_;
    semaphore room_;  // one permit for each job that is queued or on a worker
    std::uint64_t last_id_ = 0;
    worker_pool_stats counts_;
};

// ---- submitting ---------------------------------------------------------------------------------

std::optional<refusal> worker_pool_core::check_id(const worker_job& job) {
    if (!is_closed() && !job.id.empty()) {
        forget_old(time_now());
    }
    return check(job.id);
}

std::optional<refusal> worker_pool_core::try_add(const worker_job_pointer& job) {
    if (const std::optional<refusal> refused = check_id(*job)) {
        return refused;
    }
    if (std::optional<semaphore::permit> permit = room_.try_acquire()) {
        permit->detach();
    } else if (when_full_ == when_queue_full::displace_oldest) {
        displace_oldest();
    } else {
        return refuse(refusal_reason::queue_full);
    }
    accept_and_enqueue(job);
    return std::nullopt;
}

task<std::optional<refusal>> worker_pool_core::add(std::shared_ptr<worker_pool_core> self,
                                                   worker_job_pointer job) {
    const bool has_room = !self->room_.locked();
    if (has_room || self->when_full_ == when_queue_full::refuse ||
        self->when_full_ == when_queue_full::displace_oldest) {
        co_return self->try_add(job);
    }
    if (const std::optional<refusal> refused = self->check_id(*job)) {
        co_return refused;
    }
    if (self->when_full_ == when_queue_full::run_here) {
        co_await run_here(self, job);
        co_return std::nullopt;
    }
    semaphore::permit permit = co_await self->room_.acquire();
    // The pool may have been closed, or the id taken, during the wait.
    if (const std::optional<refusal> refused = self->check_id(*job)) {
        co_return refused;
    }
    permit.detach();
    self->accept_and_enqueue(job);
    co_return std::nullopt;
}

void worker_pool_core::accept(const worker_job_pointer& job) {
    if (job->id.empty()) {
        do {
            job->id = std::to_string(++last_id_);
        } while (known(job->id) != nullptr);
    }
    job->submitted_at = now();
    forget_old(job->submitted_at);
    admit(job);
    ++counts_.submitted;
}

// The caller holds a permit for it.
void worker_pool_core::accept_and_enqueue(const worker_job_pointer& job) {
    accept(job);
    job->keep_locals_of_submitter();
    enqueue(job);
}

// The queue is not empty: all permits are taken, and there are more of them than workers.
void worker_pool_core::displace_oldest() {
    const auto oldest = std::static_pointer_cast<worker_job>(take_oldest_queued());
    ++counts_.displaced;
    report("displaced");
    const refused reason({refusal_reason::displaced, clock::duration::zero()},
                         name() + ": job '" + oldest->id + "'");
    end_unstarted(oldest, &reason);  // its permit passes to the new job
}

// ---- running and ending -------------------------------------------------------------------------

task<void> worker_pool_core::run_here(std::shared_ptr<worker_pool_core> self,
                                      worker_job_pointer job) {
    self->accept(job);
    ++self->counts_.run_by_caller;
    worker_job& running = *job;
    running.stage = job_stage::running;
    running.status = job_status::running;
    running.started_at = running.submitted_at;
    cancel_scope scope;
    running.scope = &scope;
    const job_run run_guard(std::move(self), std::move(job), false);
    (void)co_await scope.run(running.run());
}

void worker_pool_core::on_start(job_base& job) noexcept {
    auto& starting = static_cast<worker_job&>(job);
    starting.status = job_status::running;
    starting.started_at = time_now();
}

void worker_pool_core::on_cancel_queued(const job_pointer& job) {
    ++counts_.cancelled;
    end_unstarted(std::static_pointer_cast<worker_job>(job), nullptr);
    room_.release();
}

void worker_pool_core::end_unstarted(const worker_job_pointer& job, const refused* displaced) {
    job->status = job_status::cancelled;
    keep(job);
    if (displaced != nullptr) {
        job->publish_refusal(*displaced);
    } else {
        job->publish();
    }
    // Last, since destructors of what the job owns may call the pool.
    job->locals.reset();
    job->discard_work();
    mark_ended(*job);
}

void worker_pool_core::on_end(const job_pointer& job) noexcept {
    const auto ended = std::static_pointer_cast<worker_job>(job);
    ended->status = ended->ending();
    if (ended->status == job_status::done) {
        ++counts_.done;
    } else if (ended->status == job_status::failed) {
        ++counts_.failed;
        report("failed");
    } else {
        ++counts_.cancelled;
    }
    keep(ended);
    ended->publish();
}

// The next queued job has started: it was accepted before the submitters that wait for the permit.
void worker_pool_core::on_left(job_base& job, bool was_on_worker) noexcept {
    if (was_on_worker) {
        room_.release();
    }
    static_cast<worker_job&>(job).discard_work();
}

// ---- finished jobs ------------------------------------------------------------------------------

void worker_pool_core::keep(const worker_job_pointer& job) {
    job->finished_at = time_now();
    finished_.add(job, job->finished_at);
    forget_old(job->finished_at);
}

void worker_pool_core::forget_old(clock::time_point now) {
    std::vector<worker_job_pointer> forgotten;  // destroyed last: destructors may call the pool
    while (finished_.has_surplus(now)) {
        forgotten.push_back(finished_.take_oldest());
        forget(forgotten.back()->id);
    }
}

worker_pool_core::worker_job_pointer worker_pool_core::find(std::string_view id) {
    if (!finished_.empty()) {
        forget_old(time_now());
    }
    return std::static_pointer_cast<worker_job>(known(id));
}

void throw_empty_job() {
    throw invalid_state("an empty weir::job_handle was used: it refers to no job");
}

}  // namespace detail

std::string_view to_string(job_status status) noexcept {
    switch (status) {
        case job_status::queued:
            return "queued";
        case job_status::running:
            return "running";
        case job_status::done:
            return "done";
        case job_status::failed:
            return "failed";
        case job_status::cancelled:
            return "cancelled";
    }
    return "unknown";
}

bool any_job::cancel(std::string_view reason) const {
    detail::worker_job& job = checked();
    const std::shared_ptr<detail::job_engine> pool = job.engine.lock();
    return pool != nullptr && pool->cancel(job, reason);
}

// ---- basic_worker_pool --------------------------------------------------------------------------

basic_worker_pool::basic_worker_pool(const worker_pool_options& options)
    : core_(std::make_shared<detail::worker_pool_core>(options)) {}

basic_worker_pool::~basic_worker_pool() {
    core_->close(shutdown_mode::now);
}

std::optional<job_status> basic_worker_pool::status(std::string_view id) const {
    const job_pointer found = core_->find(id);
    return found == nullptr ? std::nullopt : std::optional(found->status);
}

std::optional<any_job> basic_worker_pool::find(std::string_view id) const {
    job_pointer found = core_->find(id);
    return found == nullptr ? std::nullopt : std::optional<any_job>(any_job(std::move(found)));
}

bool basic_worker_pool::cancel(std::string_view id, std::string_view reason) {
    const job_pointer found = core_->find(id);
    return found != nullptr && core_->cancel(*found, reason);
}

task<void> basic_worker_pool::close(shutdown_mode mode) {
    return detail::job_engine::shutdown(core_, mode);
}

bool basic_worker_pool::is_closed() const noexcept {
    return core_->is_closed();
}

const std::string& basic_worker_pool::name() const noexcept {
    return core_->name();
}

std::optional<refusal> basic_worker_pool::try_add(const job_pointer& job) {
    return core_->try_add(job);
}

task<std::optional<refusal>> basic_worker_pool::add(core_pointer core, job_pointer job) {
    return detail::worker_pool_core::add(std::move(core), std::move(job));
}

basic_worker_pool::job_pointer basic_worker_pool::at(std::string_view id) const {
    job_pointer found = core_->find(id);
    if (found == nullptr) {
        throw invalid_argument("worker_pool '" + name() + "': there is no job '" + std::string(id) +
                               "', or it is no longer kept");
    }
    return found;
}

void basic_worker_pool::throw_other_type(std::string_view id) const {
    throw invalid_argument("worker_pool '" + name() + "': the result of job '" + std::string(id) +
                           "' has another type than the one requested");
}

void basic_worker_pool::throw_refused(const detail::worker_pool_core& core, const refusal& reason,
                                      std::string_view id) {
    core.throw_refused(reason, id);
}

worker_pool_stats basic_worker_pool::stats() const noexcept {
    return core_->stats();
}

void basic_worker_pool::write_metrics(metric_writer& to) const {
    const worker_pool_stats now = stats();
    const metric_label name{"name", core_->name()};
    const auto count = [&](std::string_view outcome, std::uint64_t value) {
        to.counter("weir_worker_pool_jobs_total", "Jobs by outcome.", {name, {"outcome", outcome}},
                   static_cast<double>(value));
    };
    count("done", now.done);
    count("failed", now.failed);
    count("cancelled", now.cancelled);
    count("displaced", now.displaced);
    count("refused", now.refused);
    to.counter("weir_worker_pool_submitted_total", "Jobs that were accepted.", {name},
               static_cast<double>(now.submitted));
    to.counter("weir_worker_pool_run_by_caller_total", "Jobs that their submitters ran.", {name},
               static_cast<double>(now.run_by_caller));
    to.gauge("weir_worker_pool_queued", "Jobs that wait for a worker.", {name},
             static_cast<double>(now.queued));
    to.gauge("weir_worker_pool_running", "Jobs on a worker.", {name},
             static_cast<double>(now.running));
    to.gauge("weir_worker_pool_workers", "Jobs that may run at a time.", {name},
             static_cast<double>(now.workers));
}

}  // namespace weir
