// SPDX-License-Identifier: MIT
// The life of a fiber: launched into a group, stepped by the loop, finished once.
//
// A step resumes the innermost coroutine and then keeps going as long as there is something to do
// without waiting: a coroutine noted in this_thread.next, a boundary whose child has completed, a
// stop walk. A suspended fiber has a coroutine on top, or a boundary that waits by itself.

#include "core/runtime/fiber_extras.hpp"

#include <weir/awaitable.hpp>
#include <weir/base/loop_support.hpp>
#include <weir/detail/cleanup.hpp>
#include <weir/detail/context.hpp>
#include <weir/detail/fiber_box.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/detail/join.hpp>
#include <weir/error.hpp>

#include <cxxabi.h>

namespace weir {

bool suspend_before_start(operation& leaf, detail::fiber& on) noexcept {
    if (!on.has(detail::stop_pending)) {
        on.leaf = &leaf;
        on.raise(detail::restart_leaf);
    }
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
        ready.clear(is_interrupted);
        return next_step::walk_on();
    }
    if (postponed != nullptr && !postponed->ready()) {
        if (ready.has(stop_pending)) {
            return next_step::walk_on();  // asked for by the operation itself
        }
        ready.leaf = postponed;
        if (postponed->start()) {
            return next_step::suspended();
        }
        ready.leaf = nullptr;
    }
    return ready.top->turn();
}

// Leaves this_thread.running as it is: the callers reset it when they are through.
inline void step_on(fiber& ready, thread_state& thread, unsigned budget) noexcept {
    thread.running = &ready;
    thread.budget = budget;
    next_step next = next_step::suspended();
    constexpr std::uint16_t unusual = stop_pending | restart_leaf | keeps_result;
    if ((ready.flags & unusual) != 0) [[unlikely]] {
        next = unusual_entry(ready);
    } else {
        next = ready.top->turn();
    }
    while (!next.is_suspended()) {
        if (next.is_coroutine()) [[likely]] {
            thread.next = nullptr;
            std::coroutine_handle<>::from_address(next.word()).resume();
            next = next_step::from_word(thread.next);
        } else if (next.is_walk()) {
            next = run_walk(ready);
        } else {
            boundary& top = static_cast<boundary&>(*ready.top);
            next = top.table().advance(top, ready);
        }
    }
}

}  // namespace

void loop_core::step(fiber& ready, unsigned budget) noexcept {
    step_on(ready, this_thread, budget);
    this_thread.running = nullptr;
}

int loop_core::run_fibers(int count) noexcept {
    thread_state& thread = this_thread;
    while (count > 0 && ready_head_ != nullptr && (ready_head_->flags & is_callback) == 0) {
        step_on(static_cast<fiber&>(take(&ready_head_)), thread, operations_per_step);
        --count;
    }
    thread.running = nullptr;
    return count;
}

bool is_cancellation(const std::exception_ptr& error) noexcept {
#ifdef __GLIBCXX__
    return error != nullptr && *error.__cxa_exception_type() == typeid(cancelled);
#else
    try {
        std::rethrow_exception(error);
    } catch (const cancelled&) {
        return true;
    } catch (...) {
        return false;
    }
#endif
}

bool is_stop_of(const scope& aimed_at, const std::exception_ptr& error) noexcept {
    if (!aimed_at.delivered || !is_cancellation(error)) {
        return false;
    }
    try {
        std::rethrow_exception(error);
    } catch (const cancelled& stop) {
        return stop.origin() == 0 || stop.origin() == aimed_at.serial;
    }
}

void note_error(fiber& ended, const std::exception_ptr& error) noexcept {
    if (!is_cancellation(error)) {
        ended.raise(is_failed);
        return;
    }
    ended.raise(is_cancelled);
    try {
        std::rethrow_exception(error);
    } catch (const cancelled& stop) {
        if (!stop.reason().empty() || ended.extras != nullptr) {
            ended.extra().reason = stop.reason();
        }
    }
}

fiber_extras& fiber::extra() {
    if (extras == nullptr) {
        extras = new fiber_extras;
    }
    return *extras;
}

void fiber::extra_reason(std::string_view reason) {
    extra().reason = reason;
}

void fiber::destroy() noexcept {
    if (has(is_failed) && !has(is_retrieved) && !has(is_discarded)) [[unlikely]] {
        references = 1;
        report_unretrieved(*this);
        if (--references != 0) {
            return;  // whoever was told keeps it
        }
    }
    group_state* const owner = group;
    if (extras != nullptr) {
        release_context(extras->context);
        for (done_callback& each : extras->callbacks) {
            release_context(each.context);
        }
        delete extras;
    }
    static_cast<const fiber_table&>(table()).destroy(*this);
    release_group(owner);
}

void check_spawn(const group_state& into) {
    if (into.is_closed) {
        throw invalid_state(into.is_root ? "spawn: the loop is closed"
                                         : "spawn: the task group has ended");
    }
    if (into.is_aborting) {
        throw invalid_state(
            "spawn: the task group is shutting down (a child failed, or it was cancelled)");
    }
    into.home->check_thread("spawn");
}

void launch_with_options(fiber& fresh, const start_options& how) {
    if (context_values* context = how.context != nullptr ? how.context : current_context()) {
        fresh.extra().context =
            how.context != nullptr ? share_context(context) : snapshot_context(context);
    }
    if (!how.name.empty()) {
        fresh.extra().name = how.name;
    }
    loop_core& home = fresh.home();
    if (home.debug()) [[unlikely]] {
        note_creation(fresh, how.created);
    }
    thread_state& thread = this_thread;
    constexpr unsigned eager_limit = 32;  // nested eager starts use the machine stack
    if (how.eager && thread.loop == &home && thread.eager_depth < eager_limit) {
        thread_state outer = thread;
        ++thread.eager_depth;
        home.step(fresh);
        thread.eager_depth = outer.eager_depth;
        thread.running = outer.running;
        thread.next = outer.next;
        thread.budget = outer.budget;
    } else {
        home.push(fresh);
    }
}

void finish(fiber& ended) noexcept {
    ended.raise(is_done);
    ended.clear(stop_pending);
    ended.clear(root_requested);
    ended.top = nullptr;
    while (end_watch* first = ended.joiners) {
        first->unlink();
        first->target_ended();
    }
    if (ended.extras != nullptr && !ended.extras->callbacks.empty()) {
        schedule_callbacks(ended);
    }
    child_ended(*ended.group, ended);
    ended.release();
}

// ---- join
// ----------------------------------------------------------------------------------------

void end_watch::link() noexcept {
    end_watch*& first = target_->joiners;
    if (first == nullptr) {
        first = next_ = previous_ = this;
    } else {
        next_ = first;
        previous_ = first->previous_;
        previous_->next_ = this;
        first->previous_ = this;
    }
}

void end_watch::unlink() noexcept {
    if (next_ == nullptr) {
        return;
    }
    end_watch*& first = target_->joiners;
    if (next_ == this) {
        first = nullptr;
    } else {
        next_->previous_ = previous_;
        previous_->next_ = next_;
        if (first == this) {
            first = next_;
        }
    }
    next_ = previous_ = nullptr;
}

end_watch* end_watch::last_of(const fiber& target) noexcept {
    return target.joiners != nullptr ? target.joiners->previous_ : nullptr;
}

void end_watch::target_ended() noexcept {
    if (role_ == role::member) {
        auto& member = static_cast<member_watch&>(*this);
        member.owner_->member_ended(member);
    } else {
        static_cast<join_operation*>(this)->go_on();
    }
}

void member_watch::link_once(owner& told) noexcept {
    // An owner links all of its watches in one go: nobody can have come between.
    const end_watch* last = last_of(*target_);
    if (last == nullptr || last->how() != role::member ||
        static_cast<const member_watch*>(last)->owner_ != &told) {
        link_for(told);
    }
}

bool join_operation::ready() noexcept {
    if (target_->has(is_done)) {
        return true;
    }
    mistake_ = check_join(*target_);
    return mistake_ != join_mistake::none;
}

bool join_operation::start() noexcept {
    link();
    return true;
}

bool join_operation::cancel() noexcept {
    if (how() == role::forwarding_join) {
        cancel_fiber(*target_, stop_reason(waiter()));
        return false;
    }
    unlink();
    return true;
}

void join_operation::go_on() noexcept {
    if (!is_waiting()) {
        return;  // let go of, to break a cycle
    }
    // A forwarded stop that the target answered with a value or an error has been answered here
    // too.
    if (how() == role::forwarding_join && waiter().has(stop_pending) &&
        !target_->has(is_cancelled)) {
        spend_requests(waiter());
    }
    complete();
}

join_mistake check_join(const fiber& target) noexcept {
    if (&target == this_thread.running) {
        return join_mistake::awaits_itself;
    }
    return target.group->home != this_thread.loop ? join_mistake::other_loop : join_mistake::none;
}

void throw_join_mistake(join_mistake made) {
    if (made == join_mistake::awaits_itself) {
        throw invalid_state("a task awaits its own handle: it would wait for ever");
    }
    throw invalid_state(
        "a task of one loop awaits the handle of a task that belongs to another loop");
}

}  // namespace weir::detail
