// SPDX-License-Identifier: MIT
// job_engine: what worker_pool and task_manager have in common. It knows jobs by id, runs so many
// at a time, queues the others, cancels single jobs and shuts down. The derived class decides how
// jobs get in, what becomes of a job that ends, and what is kept of it.
#pragma once

#include <weir/flow/detail/job_base.hpp>
#include <weir/flow/shutdown_mode.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/refusal.hpp>
#include <weir/sync/event.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace weir::detail {

// Checks of options that both kinds of owner have; they throw invalid_argument.
void check_count(const std::string& owner, std::string_view option, std::uint64_t value,
                 std::uint64_t least);
void check_not_negative(const std::string& owner, std::string_view option, clock::duration value);

class job_engine : public std::enable_shared_from_this<job_engine> {
public:
    using job_pointer = std::shared_ptr<job_base>;

    // The words that messages, reasons and events are made of.
    struct identity {
        std::string_view kind;         // "worker_pool", in events
        std::string_view kind_spoken;  // "worker pool", in messages
        std::string_view job_noun;     // "job"
    };

    virtual ~job_engine() = default;

    const std::string& name() const noexcept { return name_; }
    job_pointer known(std::string_view id) const;  // null: unknown
    // A queued job never runs; a running one is asked to stop. False: it is too late.
    bool cancel(job_base& job, std::string_view reason);
    void close(shutdown_mode mode);
    bool is_closed() const noexcept { return is_closed_; }
    [[noreturn]] void throw_refused(const refusal& reason, std::string_view id) const;
    void report(std::string_view what) const noexcept;  // to the observer

    static task<void> wait_idle(std::shared_ptr<job_engine> self);
    static task<void> shutdown(std::shared_ptr<job_engine> self, shutdown_mode mode);

    // Keeps the engine alive and from counting as idle, for work beside the jobs.
    class activity {
    public:
        explicit activity(std::shared_ptr<job_engine> engine) noexcept;
        activity(activity&&) noexcept = default;
        activity& operator=(activity&&) = delete;
        ~activity();

    private:
        std::shared_ptr<job_engine> engine_;
    };

protected:
    job_engine(const identity& words, std::string_view name, std::size_t workers,
               observer* observer);

    // In the frame of the fiber that runs a job, from before it starts: however the fiber ends, the
    // job does.
    class job_run {
    public:
        job_run(std::shared_ptr<job_engine> engine, job_pointer job, bool on_worker) noexcept
            : engine_(std::move(engine)), job_(std::move(job)), on_worker_(on_worker) {}
        job_run(job_run&&) noexcept = default;
        job_run& operator=(job_run&&) = delete;
        ~job_run() {
            if (engine_ != nullptr) {
                engine_->finish(job_, on_worker_);
            }
        }
        job_base& job() const noexcept { return *job_; }

    private:
        std::shared_ptr<job_engine> engine_;
        job_pointer job_;
        bool on_worker_;
    };

    // ---- for the derived class
    std::optional<refusal> check(std::string_view id);  // closed? is the id taken?
    refusal refuse(refusal_reason reason);              // counts and reports it
    void admit(const job_pointer& job);                 // makes its id known
    void withdraw(job_base& job) noexcept;              // the reverse: it was not accepted
    void enqueue(const job_pointer& job);               // an admitted one
    job_pointer take_oldest_queued();                   // null: the queue is empty
    void start(const job_pointer& job, bool on_worker);
    void mark_ended(job_base& job) noexcept;  // for one that ended without a fiber
    void forget(std::string_view id) noexcept { erase(id); }
    std::size_t queued() const noexcept { return queue_.size(); }
    std::size_t running() const noexcept { return running_; }
    std::size_t unfinished() const noexcept { return unfinished_; }
    std::uint64_t refused_count() const noexcept { return refused_; }
    // Works without a loop, which a pool may outlive.
    static clock::time_point time_now() noexcept;

private:
    // ---- hooks
    // A job was taken out of the queue to be cancelled: ends it, now or later.
    virtual void on_cancel_queued(const job_pointer& job) = 0;
    virtual void on_end(const job_pointer& job) noexcept = 0;
    // After on_end(), when its worker has begun the next job.
    virtual void on_left(job_base& job, bool was_on_worker) noexcept = 0;
    virtual void on_start(job_base&) noexcept {}
    virtual void on_close() {}
    virtual void on_idle_after_close() {}

    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };

    static task<void> run(job_run self);
    void start_queued();
    void finish(const job_pointer& job, bool on_worker) noexcept;
    void cancel_queued(const job_pointer& job, std::string_view reason);
    void erase(std::string_view id) noexcept;
    void update_idle() noexcept;
    std::string closing_reason() const;

    identity words_;
    std::string name_;
    std::size_t workers_;
    observer* observer_;

    std::unordered_map<std::string, job_pointer, text_hash, std::equal_to<>> jobs_;
    std::deque<job_pointer> queue_;
    std::size_t running_ = 0;     // workers in use
    std::size_t unfinished_ = 0;  // jobs admitted that have not ended
    std::size_t activities_ = 0;
    std::uint64_t refused_ = 0;
    bool is_closed_ = false;
    bool cancels_queued_ = false;
    bool is_starting_ = false;
    event idle_;  // set while there is neither an unfinished job nor an activity
};

}  // namespace weir::detail
