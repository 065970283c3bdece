// SPDX-License-Identifier: MIT
// The life of a fiber: launched into a group, stepped by the loop (loop_core::step), finished once.

#include "core/debug/fiber_names.hpp"
#include "core/debug/reporter.hpp"
#include "core/runtime/fiber_extras.hpp"

#include <weir/detail/context.hpp>
#include <weir/detail/fiber_box.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/detail/join.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <cxxabi.h>

#include <atomic>

namespace weir::detail {

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
    if (!aimed_at.answered || !is_cancellation(error)) {
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
            request_reason& reason = ended.extra().reason;
            reason.withdraw();
            reason.request(stop.reason());
            reason.deliver();
        }
    }
}

fiber_extras& fiber::extra() {
    if (extras == nullptr) {
        extras = new fiber_extras;
    }
    return *extras;
}

void fiber::destroy() noexcept {
    if (has(is_failed) && !has(is_retrieved) && !has(is_discarded)) [[unlikely]] {
        references = 1;
        report_unretrieved(*this);
        if (--references != 0) {
            return;  // the report handler keeps it
        }
    }
    group_state* const owner = group;
    if (extras != nullptr) {
        release_context(extras->context);
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

void launch_with_options(fiber& fresh, const start_options& options) {
    if (context_values* context =
            options.context != nullptr ? options.context : current_context()) {
        fresh.extra().context =
            options.context != nullptr ? share_context(context) : snapshot_context(context);
    }
    if (!options.name.empty()) {
        fresh.extra().name = options.name;
    }
    loop_core& home = fresh.home();
    if (home.debug()) [[unlikely]] {
        note_creation(fresh, options.created);
    }
    thread_state& thread = this_thread;
    constexpr unsigned eager_limit = 32;  // nested eager starts use the machine stack
    if (options.eager && thread.loop == &home && thread.eager_depth < eager_limit) {
        thread_state outer = thread;
        ++thread.eager_depth;
        home.step(fresh);
        thread.eager_depth = outer.eager_depth;
        thread.running = outer.running;
        thread.next = outer.next;
        thread.budget += outer.budget - operations_per_step;  // its operations count for both
    } else {
        home.push(fresh);
    }
}

// ---- the end ------------------------------------------------------------------------------------

namespace {

// Keeps a fiber for a callback that is queued.
class fiber_owner {
public:
    explicit fiber_owner(fiber& kept) noexcept : handle_(kept) {}
    fiber& operator*() const { return handle_.checked(); }

private:
    any_handle handle_;
};

void schedule_callbacks(fiber& ended) {
    ended.extras->callbacks.schedule(static_cast<loop&>(ended.home()),
                                     [&] { return fiber_owner(ended); });
}

// Stop beats value: of a request that nothing inside has answered.
[[gnu::noinline]] void keep_reason_of_stop(request_reason& reason) noexcept {
    reason.request_again();
    reason.deliver();
}

}  // namespace

void finish(fiber& ended) noexcept {
    ended.raise(is_done);
    ended.clear(stop_pending);  // root_requested stays: a request that was not answered
    if (ended.extras != nullptr && ended.has(root_requested) && ended.has(is_cancelled))
        [[unlikely]] {
        keep_reason_of_stop(ended.extras->reason);
    }
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

callback_id next_callback_id() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return callback_id{++last};
}

callback_id add_callback(fiber& to, unique_function<void(fiber&)> callback,
                         std::source_location where) {
    // A finished task may have outlived its loop. Its group knows, if it is the loop's root group.
    const bool runs_here = this_thread.loop != nullptr && this_thread.loop == to.group->home;
    if (to.has(is_done) && !runs_here && (to.group->is_closed || !to.group->is_root)) {
        throw loop_error("add_done_callback: the task has ended, and its loop does not run");
    }
    to.home().check_thread("add_done_callback");
    const callback_id id = to.extra().callbacks.add(std::move(callback), where);
    if (to.has(is_done)) {
        schedule_callbacks(to);
    }
    return id;
}

std::size_t remove_callback(fiber& from, callback_id id) noexcept {
    return from.extras != nullptr ? from.extras->callbacks.remove(id) : 0;
}

}  // namespace weir::detail
