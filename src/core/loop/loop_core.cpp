// SPDX-License-Identifier: MIT
// The trampoline: how the loop runs a fiber.
//
// A step resumes the innermost coroutine and then keeps going as long as there is something to do
// without waiting: a coroutine noted in this_thread.next, a boundary whose child has completed, a
// stop walk. A suspended fiber has a coroutine on top, or a boundary that waits without a child.

#include <weir/awaitable.hpp>
#include <weir/detail/cleanup.hpp>
#include <weir/detail/loop_core.hpp>
#include <weir/error.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace weir {

bool suspend_before_start(operation& leaf, detail::fiber& on) noexcept {
    if (on.has(detail::stop_pending) && detail::start_forwarding(leaf, on)) {
        return true;
    }
    on.leaf = &leaf;  // also before a stop: if the request is taken back, the operation starts
    on.raise(detail::restart_leaf);
    on.home().push(on);
    return true;
}

}  // namespace weir

namespace weir::detail {

namespace {

// A stop is due, or an operation has yet to start.
next_step unusual_entry(fiber& ready) noexcept {
    operation* postponed = nullptr;
    if (ready.has(restart_leaf)) {
        ready.clear(restart_leaf);
        postponed = std::exchange(ready.leaf, nullptr);
    }
    if (ready.has(keeps_result)) {
        ready.clear(keeps_result);
    } else if (ready.has(stop_pending)) {
        if (postponed != nullptr && start_forwarding(*postponed, ready)) {
            return next_step::suspended();
        }
        if (ready.top->is_boundary() && !ready.has(is_stoppable)) {
            return ready.top->turn();  // it holds another stop, or throws: this one stays pending
        }
        ready.clear(is_interrupted);
        return next_step::walk_on();
    }
    if (postponed != nullptr && !postponed->ready()) {
        if (ready.has(stop_pending)) {
            return next_step::walk_on();  // the operation itself requested it
        }
        ready.leaf = postponed;
        if (postponed->start()) {
            return next_step::suspended();
        }
        ready.leaf = nullptr;
    }
    return ready.top->turn();
}

// A fiber with one of these flags does not simply continue; a callback is no fiber.
constexpr std::uint16_t unusual = stop_pending | restart_leaf | keeps_result;

// this_thread.next is null while a coroutine runs, and so it need not be cleared before it is
// resumed.
next_step take_next(thread_state& thread) noexcept {
    void* const word = thread.next;
    if (word != nullptr) {
        thread.next = nullptr;
    }
    return next_step::from_word(word);
}

void carry_on(fiber& ready, thread_state& thread, next_step next) noexcept {
    while (!next.is_suspended()) {
        if (next.is_coroutine()) [[likely]] {
            std::coroutine_handle<>::from_address(next.word()).resume();
            next = take_next(thread);
        } else if (next.is_walk()) {
            next = run_walk(ready);
        } else {
            boundary& top = static_cast<boundary&>(*ready.top);
            next = top.table().advance(top, ready);
        }
    }
}

// These leave this_thread.running as it is: the callers reset it when they are through.
void step_on(fiber& ready, thread_state& thread, int budget) noexcept {
    thread.running = &ready;
    thread.budget = budget;
    const bool is_usual = (ready.flags & unusual) == 0;
    carry_on(ready, thread, is_usual ? ready.top->turn() : unusual_entry(ready));
}
// The same for a fiber that simply continues, with the budget that is there.
inline void step_usual(fiber& ready, thread_state& thread) noexcept {
    thread.running = &ready;
    const frame& top = *ready.top;
    if (top.is_boundary()) [[unlikely]] {
        carry_on(ready, thread, top.turn());
        return;
    }
    std::coroutine_handle<>::from_address(top.coroutine()).resume();
    if (thread.next != nullptr) {
        carry_on(ready, thread, take_next(thread));
    }
}

bool is_in(const fiber& member, const group_state& group) noexcept {
    const group_state* each = member.group;
    while (each != &group && each->owner != nullptr) {
        each = each->owner->group;
    }
    return each == &group;
}

// Takes the members out of the queue.
void take_members(ready_queue& from, const group_state& of, ready_queue& into) noexcept {
    for (ready_item** place = from.first_place(); *place != nullptr;) {
        const bool is_fiber = ((*place)->flags & is_callback) == 0;
        if (is_fiber && is_in(static_cast<fiber&>(**place), of)) {
            into.push(from.take(place));
        } else {
            place = &(*place)->next;
        }
    }
}

// Steps share a budget until they have used so much of it: most do so few operations that to count
// them after each step would cost a loop that only switches between fibers a twentieth of its time.
constexpr int uncounted_operations = 64;

[[gnu::noinline, gnu::cold]] void count_operations(turn_share& share) noexcept {
    share.operations -= operations_per_step - this_thread.budget;
    this_thread.budget = operations_per_step;
}

}  // namespace

void loop_core::step(fiber& ready, int budget) noexcept {
    step_on(ready, this_thread, budget);
    this_thread.running = nullptr;
}

void loop_core::run_fibers(turn_share& share) noexcept {
    thread_state& thread = this_thread;
    int left = share.resumptions;
    thread.budget = operations_per_step;
    while (!ready_.empty()) {
        const std::uint16_t flags = ready_.front().flags;
        if ((flags & (is_callback | unusual)) == 0) [[likely]] {
            step_usual(static_cast<fiber&>(ready_.pop()), thread);
        } else if ((flags & is_callback) != 0) {
            break;
        } else {
            step_on(static_cast<fiber&>(ready_.pop()), thread, operations_per_step);
        }
        // One branch for both: the loop that only switches between fibers pays for each.
        const bool has_done_much = thread.budget < operations_per_step - uncounted_operations;
        if (static_cast<int>(has_done_much) | static_cast<int>(--left == 0)) [[unlikely]] {
            if (has_done_much) {
                count_operations(share);
            }
            if (left == 0 || share.operations <= 0) {
                break;
            }
        }
    }
    thread.running = nullptr;
    share.resumptions = left;
}

void loop_core::run_members(const group_state& of) noexcept {
    constexpr unsigned deepest = 32;  // nested steps use the machine stack
    constexpr int most_rounds = 64;   // of tasks that answer a stop and go on
    thread_state& thread = this_thread;
    if (thread.eager_depth >= deepest) {
        return;
    }
    const thread_state outer = thread;
    const bool was_running_members = std::exchange(is_running_members_, true);
    ++thread.eager_depth;
    thread.is_discarding = false;
    for (int round = 0; round < most_rounds; ++round) {
        ready_queue members;
        take_members(ready_, of, members);
        if (members.empty()) {
            break;
        }
        while (!members.empty()) {
            step_on(static_cast<fiber&>(members.pop()), thread, operations_per_step);
        }
    }
    is_running_members_ = was_running_members;
    thread.eager_depth = outer.eager_depth;
    thread.running = outer.running;
    thread.next = outer.next;
    thread.budget = outer.budget;
    thread.call_depth = outer.call_depth;
    thread.is_discarding = outer.is_discarding;
}

loop_core::loop_core() noexcept
    : thread_(&this_thread), id_([] {
          static constinit std::atomic<std::uint32_t> last{0};
          return last.fetch_add(1, std::memory_order_relaxed) + 1;
      }()) {}

void loop_core::move_to_this_thread() noexcept {
    __atomic_store_n(&thread_, &this_thread, __ATOMIC_RELAXED);
}

void loop_core::throw_wrong_thread(const char* what) {
    throw wrong_thread(
        std::string(what) +
        ": called on a thread that does not run this loop; use loop.post or loop.submit");
}

}  // namespace weir::detail
