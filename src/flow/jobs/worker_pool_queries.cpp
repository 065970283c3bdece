// SPDX-License-Identifier: MIT
// What one can ask a worker pool: jobs by their ids, as long as they are kept, and numbers.

#include <weir/error.hpp>
#include <weir/flow/worker_pool.hpp>
#include <weir/loop.hpp>

#include <vector>

namespace weir {

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
    detail::job_record& job = checked();
    const std::shared_ptr<detail::worker_pool_core> pool = job.pool.lock();
    return pool != nullptr && pool->cancel(job, reason);
}

std::optional<job_status> basic_worker_pool::status(std::string_view id) const {
    const auto found = core_->find(id);
    return found == nullptr ? std::nullopt : std::optional(found->status);
}
std::optional<any_job> basic_worker_pool::find(std::string_view id) const {
    auto found = core_->find(id);
    return found == nullptr ? std::nullopt : std::optional<any_job>(any_job(std::move(found)));
}
bool basic_worker_pool::cancel(std::string_view id, std::string_view reason) {
    const auto found = core_->find(id);
    return found != nullptr && core_->cancel(*found, reason);
}

namespace detail {

void throw_empty_job() {
    throw invalid_state("an empty weir::job_handle was used: it stands for no job");
}

clock::time_point worker_pool_core::time_now() noexcept {
    loop* const here = loop::current_or_null();
    return here == nullptr ? clock::time_point() : here->now();
}

void worker_pool_core::keep(const job_pointer& ended) {
    ended->finished_at = time_now();
    kept_.push_back(ended);
    forget_old(ended->finished_at);
}

void worker_pool_core::forget_old(clock::time_point now) {
    std::vector<job_pointer> forgotten;  // destroyed at the end: their values may come back here
    while (!kept_.empty() &&
           (kept_.size() > most_results_ || now - kept_.front()->finished_at >= keep_results_)) {
        jobs_.erase(kept_.front()->id);
        forgotten.push_back(std::move(kept_.front()));
        kept_.pop_front();
    }
}

worker_pool_core::job_pointer worker_pool_core::find(std::string_view id) {
    if (!kept_.empty()) {
        forget_old(time_now());
    }
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : found->second;
}

worker_pool_core::job_pointer worker_pool_core::at(std::string_view id) {
    job_pointer found = find(id);
    if (found == nullptr) {
        throw invalid_argument("worker_pool '" + name_ + "': there is no job '" + std::string(id) +
                               "', or it has been forgotten since");
    }
    return found;
}

void worker_pool_core::throw_other_type(std::string_view id) const {
    throw invalid_argument("worker_pool '" + name_ + "': the result of job '" + std::string(id) +
                           "' is of another type than was asked for");
}

void worker_pool_core::throw_refused(const refusal& why, const job_record& job) const {
    std::string who = name_;
    if (!job.id.empty()) {
        who += ": job '" + job.id + "'";
    }
    throw refused(why, who);
}

void worker_pool_core::tell(std::string_view what) noexcept {
    if (observer_ != nullptr) {
        observer_->on_event({"worker_pool", name_, what, time_now()});
    }
}

worker_pool_stats worker_pool_core::stats() const noexcept {
    worker_pool_stats now = counts_;
    now.queued = queue_.size();
    now.running = running_;
    now.kept = kept_.size();
    return now;
}

void worker_pool_core::write_metrics(metric_writer& to) const {
    const worker_pool_stats now = stats();
    const metric_label name{"name", name_};
    const auto count = [&](std::string_view what, std::uint64_t value) {
        to.counter("weir_worker_pool_jobs_total", "Jobs by what became of them.",
                   {name, {"outcome", what}}, static_cast<double>(value));
    };
    count("done", now.done);
    count("failed", now.failed);
    count("cancelled", now.cancelled);
    count("displaced", now.displaced);
    count("refused", now.refused);
    to.counter("weir_worker_pool_submitted_total", "Jobs that were let in.", {name},
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

}  // namespace detail
}  // namespace weir
