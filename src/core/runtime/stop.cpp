// SPDX-License-Identifier: MIT
// How stops are requested and delivered.
//
// A request sets a flag on the scope it is aimed at, or on the fiber. Whether it may be delivered
// is a matter of the scopes between: the outermost requested scope that no shield separates from
// the innermost frame is the target. If the fiber waits for an operation, that is cancelled; if it
// is ready or running, the loop finds the flag when the fiber would next be resumed or suspended.
// If that operation waits for another fiber, the request is passed on to it instead. Delivery is a
// walk: the loop destroys coroutine frames from the innermost outwards, and lets each boundary that
// it meets decide how to continue. The walk is a loop and runs only from loop_core::step, so
// neither depth nor re-entrance is a concern. The rules are in docs/design.md, "Stops: one rule for
// all boundaries".

#include "core/runtime/fiber_extras.hpp"

#include <weir/awaitable.hpp>
#include <weir/detail/cleanup.hpp>
#include <weir/detail/join.hpp>
#include <weir/detail/promise.hpp>
#include <weir/detail/timed_scope.hpp>
#include <weir/error.hpp>

namespace weir::detail {

namespace {

// The outermost frame that a deliverable request is aimed at; null if there is none.
frame* find_target(fiber& on) noexcept {
    const bool shields_hold = !on.home().shields_are_broken();
    frame* target = nullptr;
    for (scope* each = on.scopes; each != nullptr; each = each->outer) {
        if (each->shielding && shields_hold) {
            return target;
        }
        if (each->requested) {
            target = each;
        }
    }
    return on.has(root_requested) ? static_cast<frame*>(&on) : target;
}

// Whether no shield holds off a request for this target.
bool is_reachable(fiber& on, const frame* target) noexcept {
    if (on.home().shields_are_broken()) {
        return true;
    }
    for (scope* each = on.scopes; each != nullptr; each = each->outer) {
        if (each->shielding) {
            return false;
        }
        if (static_cast<frame*>(each) == target) {
            return true;
        }
    }
    return true;
}

bool has_any_request(fiber& on) noexcept {
    for (scope* each = on.scopes; each != nullptr; each = each->outer) {
        if (each->requested) {
            return true;
        }
    }
    return on.has(root_requested);
}

void mark_requested(fiber& on, frame* target) noexcept {
    if (target == static_cast<frame*>(&on)) {
        on.raise(root_requested);
    } else {
        static_cast<scope*>(target)->requested = true;
    }
    on.raise(any_requested);
}

// The reasons of requests for this target; null: none was given.
request_reason* reason_of(const fiber& on, const frame* target) noexcept {
    if (target == static_cast<const frame*>(&on)) {
        return on.extras != nullptr ? &on.extras->reason : nullptr;
    }
    if (target == nullptr || &target->table() != &table_of<timed_scope>) {
        return nullptr;
    }
    return static_cast<const timed_scope*>(target)->reason();
}

// The same, made if need be; null also if the reason is empty.
request_reason* room_for_reason(fiber& on, frame* target, std::string_view reason) {
    if (reason.empty()) {
        return nullptr;
    }
    if (target == static_cast<frame*>(&on)) {
        on.extra();
    }
    return reason_of(on, target);
}

void withdraw_reason(const fiber& on, const frame* target) noexcept {
    if (request_reason* reason = reason_of(on, target)) {
        reason->withdraw();
    }
}

void note_cancel(fiber& target, std::string_view reason) {
    if (target.cancel_count != UINT16_MAX) {
        ++target.cancel_count;
    }
    set_stop_reason(target, &target, reason);
    mark_requested(target, &target);
    if (target.extras != nullptr && target.extras->stop_source != nullptr) {
        target.extras->stop_source->request_stop();
    }
    refresh_stop(target);
}

// The fiber's operation has been called off: its turn comes, and is a walk.
void wake_to_stop(fiber& target) noexcept {
    target.leaf = nullptr;
    target.raise(is_interrupted);
    target.home().push(target);
}

// Makes a suspended fiber notice a request that is deliverable and new: one that it has noticed
// before would be passed on again. A cancel passes along a chain of awaited handles in a
// loop: such chains may be long. In a cycle, which would never end, the last one stops waiting.
void interrupt(fiber& first) noexcept {
    fiber* each = &first;
    if (first.has(is_forwarding)) {
        return;  // the request has come back to where it is being passed on
    }
    while (each->has(stop_pending)) {
        if (each->has(is_parked)) {
            if (each->has(is_stoppable)) {
                each->home().unpark(*each);
            }
            break;
        }
        operation* leaf = each->leaf;
        if (leaf == nullptr || each->has(restart_leaf)) {
            break;  // running, or queued: the loop looks before it resumes
        }
        fiber* const awaited = leaf->forwards_to();
        if (awaited == nullptr) {
            each->raise(is_forwarding);  // it may pass the cancel on itself
            const bool has_let_go = leaf->cancel();
            each->clear(is_forwarding);
            if (has_let_go) {
                wake_to_stop(*each);
            }
            break;
        }
        if (awaited->has(is_forwarding)) {
            wake_to_stop(*each);
            break;
        }
        each->raise(is_forwarding);
        note_cancel(*awaited, pending_reason(*each));
        each = awaited;
        if (!is_reachable(*awaited, awaited)) {
            break;
        }
    }
    for (each = &first; each->has(is_forwarding); each = each->leaf->forwards_to()) {
        each->clear(is_forwarding);
    }
}

// Chooses the target and takes the requests inside it out of force: its walk answers them all.
void begin_walk(fiber& on, walk& stop) noexcept {
    if (stop.target != nullptr) {
        request_again(on, stop.target);  // a request made meanwhile may widen the walk
    }
    stop.target = find_target(on);
    for (scope* each = on.scopes; each != nullptr && static_cast<frame*>(each) != stop.target;
         each = each->outer) {
        if (each->requested) {
            each->requested = false;
            withdraw_reason(on, each);
        }
    }
    if (request_reason* reason = reason_of(on, stop.target)) {
        reason->deliver();
    }
    if (stop.target == static_cast<frame*>(&on)) {
        on.clear(root_requested);
    } else {
        auto* target = static_cast<scope*>(stop.target);
        target->requested = false;
        target->delivered = true;
    }
    refresh_stop(on);
}

}  // namespace

void refresh_stop(fiber& on) noexcept {
    if (!has_any_request(on)) {
        on.clear(any_requested);
        on.clear(stop_pending);
    } else if (find_target(on) != nullptr) {
        on.raise(stop_pending);
    } else {
        on.clear(stop_pending);
    }
}

bool cancel_fiber(fiber& target, std::string_view reason) {
    if (target.has(is_done)) {
        target.raise(is_retrieved);  // the caller that cancels it has given up on its error
        return false;
    }
    target.home().check_thread("handle.cancel()");
    note_cancel(target, reason);
    if (is_reachable(target, &target)) {
        interrupt(target);
    }
    return true;
}

unsigned uncancel_fiber(fiber& target) noexcept {
    if (target.has(is_done)) {
        return target.cancel_count;
    }
    // A request that has not taken effect is taken back; one that has called off an operation
    // cannot be.
    if (target.cancel_count > 0 && --target.cancel_count == 0 &&
        (target.leaf == nullptr || target.has(restart_leaf)) && !target.has(is_interrupted)) {
        target.clear(root_requested);
        withdraw_reason(target, &target);
        refresh_stop(target);
    }
    return target.cancel_count;
}

void request_stop(scope& target) noexcept {
    if (target.where == nullptr) {
        return;
    }
    fiber& on = *target.where;
    mark_requested(on, &target);
    refresh_stop(on);
    if (is_reachable(on, &target)) {
        interrupt(on);
    }
}

void release_held_stop(fiber& on) noexcept {
    refresh_stop(on);
    interrupt(on);
}

void request_again(fiber& on, frame* target) noexcept {
    if (request_reason* reason = reason_of(on, target)) {
        reason->request_again();
    }
    mark_requested(on, target);
    refresh_stop(on);
}

void request_answered(fiber& on, frame* target) noexcept {
    if (request_reason* reason = reason_of(on, target)) {
        reason->answer();
    }
    if (target != static_cast<frame*>(&on)) {
        static_cast<scope*>(target)->answered = true;
    }
}

bool start_forwarding(operation& leaf, fiber& on) noexcept {
    const fiber* awaited = leaf.forwards_to();
    if (awaited == nullptr || awaited->has(is_done) || check_join(*awaited) != join_mistake::none) {
        return false;
    }
    on.leaf = &leaf;
    leaf.start();
    interrupt(on);
    return true;
}

void spend_requests(fiber& on) noexcept {
    frame* target = find_target(on);
    if (target == nullptr) {
        return;
    }
    for (scope* each = on.scopes; each != nullptr; each = each->outer) {
        if (each->requested) {
            each->requested = false;
            each->answered = true;
            withdraw_reason(on, each);
        }
        if (static_cast<frame*>(each) == target) {
            break;
        }
    }
    if (target == static_cast<frame*>(&on)) {
        on.clear(root_requested);
        withdraw_reason(on, target);
    }
    refresh_stop(on);
}

std::string_view stop_reason(const fiber& on) noexcept {
    return stop_reason(on, &on);
}

std::string_view stop_reason(const fiber& on, const frame* target) noexcept {
    const request_reason* reason = reason_of(on, target);
    return reason != nullptr ? reason->delivered() : std::string_view();
}

std::string_view pending_reason(fiber& on) noexcept {
    const request_reason* reason = reason_of(on, find_target(on));
    return reason != nullptr ? reason->pending() : std::string_view();
}

void set_stop_reason(fiber& on, frame* target, std::string_view reason) {
    if (request_reason* kept = room_for_reason(on, target, reason)) {
        kept->request(reason);
    }
}

void restore_stop_reason(fiber& on, frame* target, std::string_view reason) {
    if (request_reason* kept = room_for_reason(on, target, reason)) {
        kept->restore(reason);
    }
}

next_step continue_stop(fiber& on, frame* target) noexcept {
    request_again(on, target);
    return next_step::walk_on();
}

// Destroys frames until a boundary takes over. Returns what to do then.
next_step run_walk(fiber& on) noexcept {
    walk stop;
    next_step next = next_step::walk_on();
    const discarding unreported;
    while (next.is_walk()) {
        if (on.has(stop_pending)) {
            begin_walk(on, stop);
        }
        frame& innermost = *on.top;
        if (innermost.is_boundary()) {
            next = innermost.table().stopped(static_cast<boundary&>(innermost), on, stop);
            continue;
        }
        auto& dying = static_cast<promise_base&>(innermost);
        frame* parent = dying.parent;
        deferred* cleanup = std::exchange(dying.cleanup, nullptr);
        on.top = parent;
        std::coroutine_handle<>::from_address(dying.coroutine()).destroy();
        if (cleanup != nullptr) {
            next = run_cleanup_in_walk(cleanup, *parent, on, stop);
        }
    }
    return next;
}

next_step inject_error(fiber& on, frame& into, std::exception_ptr error) noexcept {
    on.top = &into;
    if (into.is_boundary()) {
        walk stop;
        stop.error = std::move(error);
        return into.table().stopped(static_cast<boundary&>(into), on, stop);
    }
    this_thread.error_is_injected = true;  // seen by the await that is resumed next
    on.extra().injected_error = std::move(error);
    return next_step::resume(into.coroutine());
}

[[noreturn]] void throw_injected_error(fiber& on) {
    this_thread.error_is_injected = false;
    std::rethrow_exception(std::exchange(on.extra().injected_error, nullptr));
}

}  // namespace weir::detail
