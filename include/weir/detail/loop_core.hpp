// SPDX-License-Identifier: MIT
// The part of a loop that operations touch: the ready queue and the facts checked on the way.
#pragma once

#include <weir/detail/fiber.hpp>

#include <cstdint>

namespace weir::detail {

// How many operations of a step may complete without waiting; then the fiber yields. Operations
// that are system calls count for several: see charge().
constexpr int operations_per_step = 256;
// What a yield costs that finds no other fiber ready and goes on without a step of its own: so many
// that a turn has no more of them than it has steps.
constexpr int yield_cost = 16;

// What a turn of the loop may still do.
struct turn_share {
    int resumptions = 64;
    int operations = 1024;  // of all its steps, but those that do few: see run_fibers()

    bool is_spent() const noexcept { return resumptions <= 0 || operations <= 0; }
};

// Fibers and callbacks that are ready to run, first in, first out.
class ready_queue {
public:
    ready_queue() noexcept = default;
    ready_queue(const ready_queue&) = delete;
    ready_queue& operator=(const ready_queue&) = delete;

    bool empty() const noexcept { return first_ == nullptr; }
    ready_item& front() const noexcept { return *first_; }
    void push(ready_item& item) noexcept {
        item.next = nullptr;
        *last_ = &item;
        last_ = &item.next;
    }
    ready_item& pop() noexcept { return take(&first_); }

    // The pointer to the first item. The pointer to each further one is `next` of the item before.
    ready_item** first_place() noexcept { return &first_; }
    // Takes the item that this pointer of the queue leads to.
    ready_item& take(ready_item** place) noexcept {
        ready_item& item = **place;
        *place = item.next;
        if (item.next == nullptr) {
            last_ = place;
        }
        return item;
    }
    // Takes an item out of the middle. Slow: looks for it from the front.
    void remove(const ready_item& queued) noexcept { take(place_of(queued)); }
    bool contains(const ready_item& queued) noexcept { return *place_of(queued) != nullptr; }

private:
    ready_item** place_of(const ready_item& queued) noexcept {
        ready_item** place = &first_;
        while (*place != nullptr && *place != &queued) {
            place = &(*place)->next;
        }
        return place;
    }

    ready_item* first_ = nullptr;
    ready_item** last_ = &first_;
};

class loop_core {
public:
    loop_core() noexcept;
    loop_core(const loop_core&) = delete;
    loop_core& operator=(const loop_core&) = delete;

    // Appends to the ready queue. On the loop's thread only.
    void push(ready_item& item) noexcept { ready_.push(item); }
    // Queues a fiber that waits in a boundary, unless that has been done.
    void unpark(fiber& parked) noexcept {
        if (parked.has(is_parked)) {
            parked.clear(is_parked);
            push(parked);
        }
    }

    bool has_ready() const noexcept { return !ready_.empty(); }
    // Does a yield that finds nothing ready go on at once? Not while schedules are explored.
    bool elides_yields() const noexcept { return elides_yields_; }
    void set_elides_yields(bool elides) noexcept { elides_yields_ = elides; }

    // Slow: these look through the queue.
    bool is_queued(const ready_item& item) noexcept { return ready_.contains(item); }
    // False: it was not queued.
    bool unqueue(const ready_item& item) noexcept {
        const bool was_queued = ready_.contains(item);
        if (was_queued) {
            ready_.remove(item);
        }
        return was_queued;
    }

    // Never 0, and never that of another loop, also of one that is gone.
    std::uint32_t id() const noexcept { return id_; }
    bool debug() const noexcept { return debug_; }
    bool eager() const noexcept { return eager_; }
    bool shields_are_broken() const noexcept { return shields_broken_; }
    void set_shields_broken(bool broken) noexcept { shields_broken_ = broken; }
    // Throws wrong_thread when the loop runs on another thread.
    void check_thread(const char* what) const {
        if (this_thread.loop != this && runs_elsewhere()) [[unlikely]] {
            throw_wrong_thread(what);
        }
    }
    bool runs_elsewhere() const noexcept {
        const thread_state* const runs_on = __atomic_load_n(&runs_on_, __ATOMIC_RELAXED);
        return runs_on != nullptr && runs_on != &this_thread;
    }
    // Is this the thread that made the loop, or ran it last? Other threads may ask while the loop
    // is moved to a new one.
    bool is_on_own_thread() const noexcept {
        return __atomic_load_n(&thread_, __ATOMIC_RELAXED) == &this_thread;
    }
    void move_to_this_thread() noexcept;
    void set_running(bool running) noexcept {
        __atomic_store_n(&runs_on_, running ? &this_thread : nullptr, __ATOMIC_RELAXED);
    }

    // Runs one fiber until it suspends or ends. Nested for eager starts.
    void step(fiber& ready, int budget = operations_per_step) noexcept;
    // Runs fibers from the front of the queue, until the share, of which something must be left, is
    // spent, the queue is empty or a callback is next.
    void run_fibers(turn_share& share) noexcept;

    // Runs the fibers of the group, and of the groups inside it, that are ready, until they wait.
    // Nested in the running step.
    void run_members(const group_state& of) noexcept;
    bool is_running_members() const noexcept { return is_running_members_; }

    group_state& root() noexcept { return *root_; }

protected:
    ~loop_core() = default;
    [[noreturn]] static void throw_wrong_thread(const char* what);

    ready_queue ready_;
    group_state* root_ = nullptr;
    const thread_state* thread_;             // of the thread that made the loop, or ran it last
    const thread_state* runs_on_ = nullptr;  // of the thread that runs it now
    const std::uint32_t id_;
    bool debug_ = false;
    bool eager_ = false;  // spawn runs the first step at once, by default
    bool elides_yields_ = true;
    bool is_running_members_ = false;
    bool shields_broken_ = false;  // the deadline of the shutdown has passed
};

}  // namespace weir::detail
