// SPDX-License-Identifier: MIT
// The part of a pool that does not depend on the type of its objects: it lends them, takes them
// back, and decides what the pool's tasks do next. src/flow/pool/pool.cpp says how it works.
#pragma once

#include <weir/flow/decision/backoff.hpp>
#include <weir/flow/detail/connect_backoff.hpp>
#include <weir/flow/detail/pool_alarm.hpp>
#include <weir/flow/detail/pool_line.hpp>
#include <weir/flow/detail/pool_objects.hpp>
#include <weir/flow/detail/pool_tasks.hpp>
#include <weir/flow/pool_options.hpp>
#include <weir/refusal.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace weir::detail {

// Throws invalid_argument for an option that is not valid.
const pool_options& checked_options(const pool_options& options, bool has_check);
void write_pool_metrics(const pool_stats& now, std::string_view name, metric_writer& to);

// Lives as long as the pool, a lease, a waiter or a task of the pool.
class pool_core : private pool_alarm {
public:
    pool_core(const pool_core&) = delete;
    pool_core& operator=(const pool_core&) = delete;

    // An idle object that can be lent at once, unless others wait for one; else null.
    pool_entry* take(const std::source_location& where) noexcept {
        if (!takes_plainly_ || line_.has_waiting()) [[unlikely]] {
            return take_with_care(where);
        }
        if (idle_.empty()) {
            return nullptr;
        }
        pool_entry& taken = idle_.take_next();
        lend(taken, where);
        begin_use(taken);
        if (idle_.is_short()) [[unlikely]] {
            pump();
        }
        return &taken;
    }
    // A lease ends.
    void give_back(pool_entry& returned) noexcept {
        if (!returns_plainly_ || returned.is_retired || line_.has_waiting()) [[unlikely]] {
            give_back_with_care(returned);
            return;
        }
        lent_.remove(returned);
        if (ages_.tracks_idle_time()) {
            stamp_idle(returned);
        }
        idle_.add(returned);
    }
    // A lent object leaves the pool; its lease destroys it.
    void forget(pool_entry& detached) noexcept;

    // ---- waiting
    bool wait(pool_request& last) noexcept;  // false: refused at once
    void leave(pool_request& waiting) noexcept;
    void take_over(pool_request& granted) noexcept;
    void abandon(pool_request& gone) noexcept;  // destroyed before its fiber ran
    refusal refuse_try() noexcept;              // for try_acquire

    // ---- results of the pool's tasks
    std::uint64_t begin_task(pool_job job) noexcept {  // the generation of what it makes
        tasks_.begin(job);
        return generation_;
    }
    void end_task(pool_job job) noexcept { tasks_.end(job); }
    void connected(pool_entry& fresh) noexcept;
    void connect_failed(std::exception_ptr error) noexcept;
    void checked(pool_entry& entry, bool is_good) noexcept;
    void was_reset(pool_entry& entry, bool is_good) noexcept;
    void was_closed(pool_entry& entry) noexcept;
    void stopped(pool_job job, pool_entry* entry) noexcept;  // the task ended without a result

    // ---- management
    void resize(std::size_t max);
    void suspend() noexcept;
    void resume() noexcept;
    void evict_all() noexcept;
    class reference;
    static task<> drain(reference pool);
    static task<> close(reference pool, clock::duration limit);
    pool_stats stats() const noexcept;
    const std::string& name() const noexcept { return name_; }

    void retain() noexcept { ++references_; }
    void release() noexcept {
        if (--references_ == 0) {
            delete this;
        }
    }
    // The pool itself is destroyed; leases and tasks may remain.
    void orphan() noexcept;

protected:
    struct abilities {
        bool check;
        bool reset;
        bool close;
    };
    pool_core(const pool_options& options, abilities given);
    virtual ~pool_core();
    void begin() noexcept;  // when everything is constructed

    enum class check_result : unsigned char { good, bad, takes_time };
    // They start tasks, or do the work at once. They do not throw.
    virtual void start_connect() noexcept = 0;
    virtual void start_check(pool_entry& entry) noexcept = 0;
    virtual void start_reset(pool_entry& entry) noexcept = 0;
    virtual void start_close(pool_entry& entry) noexcept = 0;
    virtual check_result check_now(pool_entry& entry) noexcept = 0;
    virtual void destroy(pool_entry& entry) noexcept = 0;
    // Starts a task of the pool. If that fails, the task is destroyed, and its pool_work reports
    // that it was stopped.
    void launch(pool_job job, task<> work) noexcept {
        tasks_.launch(job, std::move(work), loop_id());
    }
    // Inside a catch block: passes the error to the option on_error.
    void report_current_error(pool_stage stage) noexcept;

    const clock::duration connect_timeout_;
    const clock::duration check_timeout_;
    const clock::duration close_timeout_;
    const abilities has_;

private:
    void lend(pool_entry& taken, const std::source_location& where) noexcept {
        lent_.add(taken, where);
        if (ages_.reports_leaks()) {
            stamp_lent(taken);
        }
    }
    // Counted only when the task goes on: one that is stopped before has used nothing.
    void begin_use(pool_entry& lent) noexcept {
        lent_.count_use(lent);
        ++counted_.acquired;
    }
    // Objects that exist or are being connected; those being closed do not count.
    std::size_t objects() const noexcept {
        return idle_.size() + lent_.size() + tasks_.count(pool_job::checking) +
               tasks_.count(pool_job::resetting) + tasks_.count(pool_job::connecting);
    }
    std::size_t places_taken() const noexcept {
        return objects() + tasks_.count(pool_job::closing);
    }
    // Objects that are, or will be, free for waiting tasks.
    std::size_t supply() const noexcept {
        return idle_.size() + tasks_.count(pool_job::checking) + tasks_.count(pool_job::connecting);
    }
    bool has_excess() const noexcept { return objects() > max_; }
    bool serves() const noexcept { return !is_suspended_ && !is_closed_; }

    pool_entry* take_with_care(const std::source_location& where) noexcept;
    void give_back_with_care(pool_entry& returned) noexcept;
    void offer(pool_entry& entry, bool is_checked) noexcept;
    void hand_on(pool_entry& entry, bool is_checked) noexcept;
    void grant(pool_entry& entry) noexcept;
    void put_idle(pool_entry& entry) noexcept;
    void retire(pool_entry& entry) noexcept;
    void retire_failed(pool_entry& entry) noexcept;
    bool needs_check(const pool_entry& entry) const noexcept;
    void pump() noexcept;
    void connect_as_needed() noexcept;
    void note_change() noexcept;
    bool refuse(pool_request& newcomer, const refusal& reason) noexcept;
    void refuse_all() noexcept;

    void on_alarm() noexcept override;
    void on_loop_end() noexcept override { shut(); }
    void tie_to_loop() noexcept;
    void keep_alive(pool_entry& idle) noexcept;
    void stamp_idle(pool_entry& returned) noexcept;
    void stamp_lent(pool_entry& taken) noexcept;
    void report_held(const pool_entry& held) noexcept;
    void report(std::string_view what, double value = 0) noexcept;

    static task<bool> wait_for_leases(pool_core& pool);
    static task<> finish(pool_core& pool);
    void shut() noexcept;

    // Set anew by note_change(): nothing but moving the object is needed.
    bool takes_plainly_ = false;
    bool returns_plainly_ = false;
    bool is_suspended_ = false;
    bool is_draining_ = false;  // newcomers are refused
    bool is_closed_ = false;    // nothing is lent, and objects that come back are closed
    bool is_orphaned_ = false;  // the user's functions must not be called any more
    const object_ages ages_;
    pool_line line_;
    idle_objects idle_;
    lent_objects lent_;
    pool_stats counted_;
    std::size_t max_;
    std::size_t references_ = 1;
    std::uint64_t generation_ = 0;  // evict_all() begins a new one
    pool_tasks tasks_;
    connect_backoff backoff_;
    weir::event changed_;  // for drain() and close()
    decision::random_source random_;
    pool_options options_;
    std::string name_;
};

class pool_core::reference {
public:
    explicit reference(pool_core& pool) noexcept : pool_(&pool) { pool.retain(); }
    reference(reference&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
    reference& operator=(reference&&) = delete;
    ~reference() {
        if (pool_ != nullptr) {
            pool_->release();
        }
    }
    pool_core& operator*() const noexcept { return *pool_; }

private:
    pool_core* pool_;
};

}  // namespace weir::detail
