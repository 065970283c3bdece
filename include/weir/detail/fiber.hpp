// SPDX-License-Identifier: MIT
// A fiber: one line of execution on a loop, with its stack of awaits and its stop requests.
#pragma once

#include <weir/base/intrusive_list.hpp>
#include <weir/detail/frame.hpp>
#include <weir/detail/thread_state.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

namespace weir::detail {

struct fiber_extras;
struct group_errors;
class fiber;
class end_watch;
struct sibling_tag;

// Receives each child of a group that ends, in place of the group's own rule about errors.
class child_observer {
public:
    virtual void child_ended(fiber& ended) noexcept = 0;

protected:
    ~child_observer() = default;
};

// The fibers that are joined together. Shared by the group's boundary, its children and the
// task_group objects that users hold.
struct group_state {
    loop_core* home = nullptr;
    intrusive_list<fiber, sibling_tag> children;  // unfinished ones, oldest first
    std::size_t child_count = 0;
    std::size_t references = 1;
    scope* body = nullptr;    // the boundary around the body; null for a root group and at the end
    fiber* owner = nullptr;   // the fiber that the group is part of, and
    scope* inside = nullptr;  // the innermost scope around it there; null for a root group
    fiber* joiner = nullptr;  // the fiber that waits for the children, when it does
    group_errors* errors = nullptr;  // what children failed with
    child_observer* observer = nullptr;
    bool is_root = false;
    bool is_failing = false;   // a child failed: will abort on a later turn
    bool is_aborting = false;  // a child failed, or the group was cancelled: accepts no new ones
    bool is_closed = false;    // has ended
};

// An entry of the ready queue: a fiber or a plain callback. Which one, its flags say.
struct ready_item {
    ready_item* next = nullptr;
    std::uint32_t references = 1;
    std::uint16_t flags = 0;
    std::uint16_t cancel_count = 0;  // fibers: requests made by handle.cancel() and not undone
};

enum fiber_flag : std::uint16_t {
    is_callback = 1 << 0,   // not a fiber at all
    is_parked = 1 << 1,     // suspended in a boundary; cleared when it is queued
    is_done = 1 << 2,       // has ended
    is_cancelled = 1 << 3,  // has ended by a stop
    is_failed = 1 << 4,     // has ended by an error
    is_retrieved = 1 << 5,  // the error was retrieved
    stop_pending = 1 << 6,  // a request may be delivered at the next suspension
    root_requested =
        1 << 7,  // a request aimed at the whole fiber is pending (at the end: unanswered)
    any_requested =
        1 << 8,             // some scope or the fiber may have one: look before skipping the search
    restart_leaf = 1 << 9,  // was made to yield before its operation started
    keeps_result = 1 << 10,    // its operation completed late and wants its result delivered
    is_stoppable = 1 << 11,    // waits in a boundary, and a stop may reach it there
    is_forwarding = 1 << 12,   // a cancel is being passed on along handles: guards against cycles
    is_numbered = 1 << 13,     // schedule exploration knows it
    is_discarded = 1 << 14,    // an error that is not retrieved is not reported
    is_interrupted = 1 << 15,  // its operation was called off: nothing but a walk can follow
};

// The fiber is itself the outermost boundary of its stack. Data that few fibers have (a name,
// callbacks, task-local values, a reason for the stop) is behind one pointer.
class fiber : public ready_item, public boundary, public list_link<sibling_tag> {
public:
    frame* top = nullptr;          // the innermost frame
    scope* scopes = nullptr;       // the innermost scope
    group_state* group = nullptr;  // the group it belongs to
    end_watch* joiners = nullptr;  // a ring; points at its first
    fiber_extras* extras = nullptr;

    explicit fiber(const boundary_table& table) noexcept : boundary(table) {}
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    bool has(fiber_flag flag) const noexcept { return (flags & flag) != 0; }
    void raise(fiber_flag flag) noexcept { flags = static_cast<std::uint16_t>(flags | flag); }
    void clear(fiber_flag flag) noexcept { flags = static_cast<std::uint16_t>(flags & ~flag); }

    loop_core& home() const noexcept { return *group->home; }  // the loop it lives on
    fiber_extras& extra();                                     // made on first use

    void retain() noexcept { ++references; }
    void release() noexcept {
        if (--references == 0) {
            destroy();
        }
    }

private:
    void destroy() noexcept;  // frees the block; reports an error that was not retrieved
};

// ---- stops --------------------------------------------------------------------------------------

// Requests a stop of the whole fiber; false when it has ended already.
bool cancel_fiber(fiber& target, std::string_view reason);
// Takes one request back; returns how many remain.
unsigned uncancel_fiber(fiber& target) noexcept;
// Requests a stop of the work inside the scope.
void request_stop(scope& target) noexcept;
// Undoes the requests that may be delivered now: they have been answered already.
void spend_requests(fiber& on) noexcept;
// Makes a request that was delivered and is still unanswered pending again.
void request_again(fiber& on, frame* target) noexcept;
// A request that was delivered has been answered within its target.
void request_answered(fiber& on, frame* target) noexcept;
// Begins to wait for another fiber with a request pending, which is passed on to that fiber. False:
// the operation waits for none that could answer, and has not been started.
bool start_forwarding(operation& leaf, fiber& on) noexcept;
// Is a request waiting that nothing holds off?
void refresh_stop(fiber& on) noexcept;
// Delivers what shields held off, now that they hold no longer.
void release_held_stop(fiber& on) noexcept;
// A reason belongs to the target of its request: of the whole fiber, of a target on it, or of the
// request that may be delivered now. Empty if none was given.
std::string_view stop_reason(const fiber& on) noexcept;
std::string_view stop_reason(const fiber& on, const frame* target) noexcept;
std::string_view pending_reason(fiber& on) noexcept;
// Ignores an empty reason: that request merges with the one before.
void set_stop_reason(fiber& on, frame* target, std::string_view reason);
// Of a request that was delivered, and whose reason was taken.
void restore_stop_reason(fiber& on, frame* target, std::string_view reason);

inline void enter_scope(scope& entered, fiber& on) noexcept {
    entered.where = &on;
    entered.serial = ++this_thread.scope_serial;
    entered.outer = on.scopes;
    on.scopes = &entered;
    if (on.has(any_requested)) [[unlikely]] {
        refresh_stop(on);
    }
}

inline void leave_scope(scope& left) noexcept {
    fiber& on = *left.where;
    on.scopes = left.outer;
    left.where = nullptr;
    if (on.has(any_requested)) [[unlikely]] {
        refresh_stop(on);
    }
}

// Repeats the request for the stop that a boundary has held up, and has the trampoline continue
// with it, or with one that was aimed further out meanwhile.
next_step continue_stop(fiber& on, frame* target) noexcept;

// ---- the end of a fiber -------------------------------------------------------------------------

void finish(
    fiber&
        ended) noexcept;  // wakes joiners, runs callbacks, tells the group, drops the loop's reference

}  // namespace weir::detail
