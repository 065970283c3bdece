// SPDX-License-Identifier: MIT
// The part of a worker pool that does not depend on the types of its jobs.
#pragma once

#include <weir/flow/detail/job_record.hpp>
#include <weir/flow/shutdown_mode.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/refusal.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/semaphore.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weir {

class basic_worker_pool;

// What a submission does when all workers are busy and the queue is full.
enum class when_queue_full : unsigned char {
    wait,             // waits for room, in the order of asking
    refuse,           // is refused: queue_full
    displace_oldest,  // the job at the head of the queue gives way: refused, displaced
    run_here,         // the submitting task runs the job itself, before it goes on
};

struct worker_pool_options {
    std::string_view name = "workers";
    std::size_t workers = 4;  // jobs that run at a time
    std::size_t queue = 100;  // jobs that wait for a worker; 0: none, they go to a free one only
    weir::when_queue_full when_full = weir::when_queue_full::wait;
    // Finished jobs can be asked for by id so long, and so many of them. Handles keep theirs
    // anyway.
    clock::duration keep_results = std::chrono::minutes(5);
    std::size_t most_results = 1000;
    weir::observer* observer = nullptr;  // "failed", "refused", "displaced", "shut_down"
};

struct worker_pool_stats {
    std::uint64_t submitted = 0;  // let in, those that their submitters ran included
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t displaced = 0;
    std::uint64_t refused = 0;        // not let in
    std::uint64_t run_by_caller = 0;  // of those submitted
    // Now:
    std::size_t queued = 0;
    std::size_t running = 0;  // on a worker
    std::size_t kept = 0;     // finished, and can be asked for by id
    std::size_t workers = 0;
};

namespace detail {

class worker_pool_core : public std::enable_shared_from_this<worker_pool_core> {
public:
    using job_pointer = std::shared_ptr<job_record>;

    explicit worker_pool_core(const worker_pool_options& options);

    // Lets the job in, or says why not.
    std::optional<refusal> try_enter(const job_pointer& fresh);
    static task<std::optional<refusal>> enter(std::shared_ptr<worker_pool_core> self,
                                              job_pointer fresh);
    bool cancel(job_record& job, std::string_view reason);

    void close(shutdown_mode mode);
    static task<void> shutdown(std::shared_ptr<worker_pool_core> self, shutdown_mode mode);
    bool is_closed() const noexcept { return is_closed_; }

    job_pointer find(std::string_view id);
    job_pointer at(std::string_view id);  // throws invalid_argument if there is none
    [[noreturn]] void throw_other_type(std::string_view id) const;
    [[noreturn]] void throw_refused(const refusal& why, const job_record& job) const;

    worker_pool_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;
    const std::string& name() const noexcept { return name_; }

private:
    // In the frame of whoever runs the job, from before it starts: however that ends, the job does.
    class running_job {
    public:
        running_job(std::shared_ptr<worker_pool_core> pool, job_pointer job) noexcept
            : pool_(std::move(pool)), job_(std::move(job)) {}
        running_job(running_job&&) noexcept = default;
        running_job& operator=(running_job&&) = delete;
        ~running_job() {
            if (pool_ != nullptr) {
                pool_->finish(job_);
            }
        }
        job_record& job() const noexcept { return *job_; }

    private:
        std::shared_ptr<worker_pool_core> pool_;
        job_pointer job_;
    };
    struct by_text {
        using is_transparent = void;
        std::size_t operator()(std::string_view id) const noexcept {
            return std::hash<std::string_view>()(id);
        }
    };

    std::optional<refusal> check(const job_record& fresh);
    std::optional<refusal> refuse(refusal_reason why);
    void admit(const job_pointer& fresh);  // makes it known
    void add(const job_pointer& admitted);
    void displace_oldest();
    static task<void> run_on_worker(running_job self);
    static task<void> run_here(std::shared_ptr<worker_pool_core> self, job_pointer fresh);
    void start(const job_pointer& next);
    void start_more();
    void cancel_unstarted(const job_pointer& job);
    void finish(const job_pointer& ended) noexcept;
    void end_unstarted(const job_pointer& ended, const refused* why = nullptr);
    void keep(const job_pointer& ended);
    void forget_old(clock::time_point now);
    void check_idle();
    static clock::time_point time_now() noexcept;  // the pool may outlive its loop
    void tell(std::string_view what) noexcept;
    static bool has_ended(const job_record& job) noexcept { return is_final(job.status); }

    std::string name_;
    std::size_t workers_;
    weir::when_queue_full when_full_;
    clock::duration keep_results_;
    std::size_t most_results_;
    weir::observer* observer_;

    semaphore room_;                 // one permit for each job on a worker or in the queue
    std::deque<job_pointer> queue_;  // those without a worker, oldest first
    std::unordered_map<std::string, job_pointer, by_text, std::equal_to<>> jobs_;  // by id
    std::deque<job_pointer> kept_;  // finished ones of those, oldest first
    std::size_t running_ = 0;
    std::size_t run_by_callers_ = 0;
    std::uint64_t last_id_ = 0;
    bool is_closed_ = false;
    bool is_starting_ = false;
    event is_idle_;  // closed, and no job is left
    worker_pool_stats counts_;
};

}  // namespace detail
}  // namespace weir
