// SPDX-License-Identifier: MIT
// Runs the turns of a loop.
//
// One turn: up to 64 entries of the ready queue, then the posts of other threads, then timers that
// are due, then the driver, which waits if nothing is ready. A turn ends earlier if its steps have
// done much without waiting. Timers are then in time; the driver, whose poll is a system call, is
// left out of such turns, three times in a row at most.
#pragma once

#include "core/debug/explorer.hpp"
#include "core/loop/inbox.hpp"
#include "core/loop/signal_table.hpp"

#include <weir/base/timer_wheel.hpp>
#include <weir/base/wait_list.hpp>
#include <weir/loop.hpp>

#include <memory>
#include <optional>

namespace weir::detail {

class scheduler {
public:
    scheduler(loop& home, ready_queue& ready, inbox& mail, signal_table& signals,
              clock::duration slow_step) noexcept;
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    // The first part of a turn: ready fibers, posts and due timers.
    void work();
    // The second part: the driver. Throws deadlock.
    void wait();
    // A turn that does not wait, for guest mode. True: call again at once.
    bool poll();
    // When poll() has something to do; now() if that is already the case.
    std::optional<clock::time_point> next_deadline() noexcept;
    // Takes in posts, timers and events, without running any fiber.
    void take_events();
    // Takes in posts and signals.
    void take_mail() noexcept;

    // The run ends when all that is ready now has run. Before a run: it makes one turn.
    void request_stop() noexcept;
    void forget_stop() noexcept;
    bool stop_is_requested() const noexcept { return stop_is_queued_; }
    bool stop_is_reached() const noexcept { return stop_is_reached_; }
    void go_on_after_stop() noexcept { stop_is_reached_ = false; }

    clock::time_point now() noexcept { return clock::time_point(clock::duration(driver_.now())); }
    timer_wheel& timers() noexcept { return timers_; }
    // Operations that wait until nothing else is ready.
    wait_list& idle_waiters() noexcept { return idle_waiters_; }
    void set_slow_step(clock::duration limit) noexcept { slow_step_ = limit; }
    // From now on the explorer chooses what runs next.
    explorer& explore(std::uint64_t seed);

    // Drops all callbacks; accepts no more posts.
    void close() noexcept;

private:
    // Is there something to do that needs neither an event nor a timer?
    bool has_work() const noexcept;
    // Is the driver to be asked though something is ready?
    bool poll_is_due() noexcept;
    void run_ready() noexcept;
    void run_one(ready_item& item, turn_share& share) noexcept;
    void run_callback(ready_item& item) noexcept;
    void run_watched(fiber& ready, int budget) noexcept;
    void fire_timers() noexcept;
    void sleep();
    void throw_deadlock();

    loop& home_;
    ready_queue& ready_;
    inbox& mail_;
    signal_table& signals_;
    weir::driver& driver_;  // the inbox's
    timer_wheel timers_;
    wait_list idle_waiters_;
    std::unique_ptr<explorer> explorer_;  // null: first in, first out
    clock::duration slow_step_;           // debug mode: longer steps are reported

    ready_item stop_marker_;  // queued by request_stop(): the run ends where it is met
    int turns_without_poll_ = 0;
    bool turn_was_short_ = false;
    bool stop_is_queued_ = false;
    bool stop_is_reached_ = false;
};

}  // namespace weir::detail
