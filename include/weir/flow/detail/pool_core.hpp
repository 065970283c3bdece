// SPDX-License-Identifier: MIT
// The part of a pool that does not know the type of its objects: who waits, what is idle, what is
// lent, and what has to be done next. src/flow/pool.cpp says how it works.
#pragma once

#include <weir/base/closable.hpp>
#include <weir/base/timer_wheel.hpp>
#include <weir/flow/decision/random.hpp>
#include <weir/flow/detail/pool_entry.hpp>
#include <weir/flow/pool_options.hpp>
#include <weir/handle.hpp>
#include <weir/refusal.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace weir::detail {

class pool_waiter;

// What a task of the pool is busy with.
enum class pool_job : unsigned char { connecting, checking, resetting, closing };
constexpr std::size_t pool_jobs = 4;

// Lives as long as the pool, a lease, a waiter or a task of the pool.
class pool_core : private timer, private closable {
public:
    pool_core(const pool_core&) = delete;
    pool_core& operator=(const pool_core&) = delete;

    // An idle object that can be lent at once, unless others wait for one; null otherwise.
    pool_entry* take(const std::source_location& where) noexcept {
        if (!takes_plainly_ || waiters_.has_waiting()) [[unlikely]] {
            return take_with_care(where);
        }
        if (idle_.empty()) {
            return nullptr;
        }
        pool_entry& taken = newest_first_ ? idle_.back() : idle_.front();
        idle_.remove(taken);
        lend(taken, where);
        if (idle_.size() < min_idle_) [[unlikely]] {
            pump();
        }
        return &taken;
    }
    // A lease has gone.
    void give_back(pool_entry& returned) noexcept {
        if (!returns_plainly_ || returned.is_retired || waiters_.has_waiting()) [[unlikely]] {
            give_back_with_care(returned);
            return;
        }
        lent_.remove(returned);
        if (ages_) {
            stamp_idle(returned);
        }
        idle_.push_back(returned);
    }
    // It leaves the pool: a lent one, about to be destroyed.
    void forget(pool_entry& detached) noexcept;

    // ---- waiting
    // ---------------------------------------------------------------------------------
    bool wait(pool_waiter& last) noexcept;  // false: refused at once
    void leave(pool_waiter& gone) noexcept;
    void take_over(pool_waiter& granted) noexcept;  // its task goes on with what it was granted
    void abandon(pool_waiter& gone) noexcept;
    refusal why_not() noexcept;  // for try_acquire

    // ---- tasks of the pool, as they end
    // ----------------------------------------------------------
    void connected(pool_entry& fresh) noexcept;
    void connect_failed(std::exception_ptr error) noexcept;
    // Inside a handler: passes the error on to whoever wants to know of all.
    void sink_current_error(pool_stage stage) noexcept;
    void checked(pool_entry& entry, bool is_good) noexcept;
    void was_reset(pool_entry& entry, bool is_good) noexcept;
    void was_closed(pool_entry& entry) noexcept;
    void stopped(pool_job job, pool_entry* entry) noexcept;  // whoever stopped it

    // ---- management
    // ------------------------------------------------------------------------------
    void resize(std::size_t max);
    void suspend() noexcept;
    void resume() noexcept;
    void evict_all() noexcept;
    class reference;
    static task<> drain(reference of);
    static task<> close(reference of, clock::duration limit);
    pool_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;
    const std::string& name() const noexcept { return name_; }

    void retain() noexcept { ++references_; }
    void release() noexcept {
        if (--references_ == 0) {
            delete this;
        }
    }
    // The pool itself is gone; leases and tasks may still be there.
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
    // Starts a task of the pool. Where that fails, the task is destroyed, and its pool_work says
    // so.
    void launch(pool_job job, task<> work) noexcept;

    const clock::duration connect_timeout_;
    const clock::duration check_timeout_;
    const clock::duration close_timeout_;
    const abilities has_;

private:
    friend class pool_work;
    struct running_task {
        any_handle task;
        pool_job job;
    };

    std::size_t& count_of(pool_job job) noexcept { return busy_[static_cast<std::size_t>(job)]; }
    std::size_t count_of(pool_job job) const noexcept {
        return busy_[static_cast<std::size_t>(job)];
    }
    void lend(pool_entry& taken, const std::source_location& where) noexcept {
        lent_.push_back(taken);
        taken.taken = where;
        ++counted_.acquired;
        if (++taken.uses >= max_uses_) [[unlikely]] {
            taken.is_retired = true;
        }
        if (looks_for_leaks_) {
            stamp_lent(taken);
        }
    }
    std::size_t live() const noexcept {
        return idle_.size() + lent_.size() + count_of(pool_job::checking) +
               count_of(pool_job::resetting);
    }
    bool has_excess() const noexcept { return live() + count_of(pool_job::connecting) > max_; }
    bool has_room() const noexcept {
        return live() + count_of(pool_job::connecting) + count_of(pool_job::closing) < max_;
    }
    bool serves() const noexcept { return !is_suspended_ && !is_closed_; }

    pool_entry* take_with_care(const std::source_location& where) noexcept;
    void give_back_with_care(pool_entry& returned) noexcept;
    void offer(pool_entry& entry, bool is_checked) noexcept;
    void hand_on(pool_entry& entry, bool is_checked) noexcept;
    void grant(pool_entry& entry) noexcept;
    void retire(pool_entry& entry) noexcept;
    void put_idle(pool_entry& entry) noexcept;
    bool needs_check(const pool_entry& entry) noexcept;
    void pump() noexcept;
    void connect_as_needed() noexcept;
    bool refuse(pool_waiter& newcomer, const refusal& why) noexcept;
    void refuse_first(const refusal& why, std::exception_ptr error = nullptr) noexcept;
    void refuse_all(const refusal& why) noexcept;
    void note_change() noexcept;

    void bind() noexcept;
    clock::time_point time() noexcept;
    void wake_at(clock::time_point when) noexcept;
    clock::time_point due(const pool_entry& idle, clock::time_point now) const noexcept;
    void fire() noexcept override;
    void close_at_shutdown() noexcept override;
    void expire_waiters(clock::time_point now) noexcept;
    void age_lent(clock::time_point now) noexcept;
    void age_idle(clock::time_point now) noexcept;
    bool is_overdue(const pool_entry& idle, clock::time_point now) const noexcept;
    void keep_alive(pool_entry& idle) noexcept;
    void stamp_idle(pool_entry& returned) noexcept;
    void stamp_lent(pool_entry& taken) noexcept;
    void report_held(const pool_entry& held) noexcept;
    void back_off() noexcept;
    void tell(std::string_view what, double value = 0) noexcept;

    static task<bool> all_are_back(pool_core& of);
    static task<> finish(pool_core& of);
    bool is_busy() const noexcept;
    void shut() noexcept;
    void cancel_tasks(bool connects_only) noexcept;

    // Set anew by note_change(): nothing but moving the object is needed.
    bool takes_plainly_ = false;
    bool returns_plainly_ = false;
    const bool newest_first_;
    bool is_suspended_ = false;
    bool is_draining_ = false;    // nobody new is let in
    bool is_closed_ = false;      // nothing is lent, and what comes back is closed
    bool is_orphaned_ = false;    // none of the user's functions may be called any more
    const bool ages_;             // some option needs to know since when an object is idle
    const bool looks_for_leaks_;  // or since when it is lent
    std::size_t min_idle_;
    std::size_t max_uses_;
    wait_list waiters_;
    pool_list idle_;  // the one that came back last is last
    pool_list lent_;  // the one that was lent last is last
    pool_stats counted_;
    std::size_t max_;
    std::size_t busy_[pool_jobs] = {};
    std::size_t waiting_ = 0;
    std::size_t references_ = 1;
    std::uint64_t generation_ = 0;  // evict_all() begins a new one
    std::size_t failures_ = 0;      // connects that failed since one succeeded
    clock::time_point next_connect_;
    clock::time_point next_refill_;
    clock::time_point wakes_at_ = clock::time_point::max();
    weir::event changed_;  // for those who wait for the end
    std::vector<running_task> tasks_;
    decision::random_source random_;
    std::uint32_t loop_ = 0;  // the id of the loop it belongs to; 0: none yet
    pool_options options_;
    std::string name_;
};

class pool_core::reference {
public:
    explicit reference(pool_core& to) noexcept : to_(&to) { to.retain(); }
    reference(reference&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
    reference& operator=(reference&&) = delete;
    ~reference() {
        if (to_ != nullptr) {
            to_->release();
        }
    }
    pool_core& operator*() const noexcept { return *to_; }

private:
    pool_core* to_;
};

}  // namespace weir::detail
