// SPDX-License-Identifier: MIT
// Deferred clean-up runs on the fiber that ends the frame, under a boundary of its own that shields it.
// The frame is either still there (its body has ended, its result waits to be fetched) or was destroyed
// by a walk; an error goes into its result, or is thrown at the caller in its place.

#include <weir/cancel.hpp>
#include <weir/detail/cleanup.hpp>
#include <weir/detail/loop_state.hpp>

namespace weir::detail {

namespace {

class cleanup_runner final : public scope {
public:
    static constexpr const char* boundary_name = "defer";

    cleanup_runner(deferred* cleanup, frame& caller)
        : scope(table_of<cleanup_runner>), fail_(cleanup->fail), work_(run_deferred(cleanup)) {
        parent = &caller;
        shielding = true;
    }

    static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
    static void operator delete(void* memory, std::size_t size) noexcept {
        frame_pool::release(memory, size);
    }

    next_step start_after(promise_base& ended, fiber& on) noexcept {
        ended_ = &ended;
        enter_scope(*this, on);
        return work_.start(*this, on);
    }
    next_step start_within(frame* stop_target, fiber& on) noexcept {
        stop_target_ = stop_target;
        enter_scope(*this, on);
        return work_.start(*this, on);
    }

    next_step advance(fiber& on) noexcept {
        leave_scope(*this);
        return go_on(on, work_.error());
    }
    next_step stopped(fiber& on, walk& by) noexcept {
        leave_scope(*this);
        work_.lost();
        if (by.error != nullptr) {
            return go_on(on, std::move(by.error));
        }
        const next_step next = let_pass(*this, on);  // past the loop's deadline
        delete this;
        return next;
    }

private:
    next_step go_on(fiber& on, std::exception_ptr error) noexcept {
        const std::unique_ptr<cleanup_runner> self(this);
        if (ended_ != nullptr) {
            if (error != nullptr) {
                fail_(*ended_, std::move(error));
            }
            return return_to_parent(*this, on);
        }
        if (error != nullptr) {
            return inject_error(on, *parent, std::move(error));
        }
        on.top = parent;
        return continue_stop(on, stop_target_);
    }

    fail_function fail_;
    child_call<void> work_;
    promise_base* ended_ = nullptr;
    frame* stop_target_ = nullptr;
};

}  // namespace

task<void> run_deferred(deferred* cleanup) {
    std::exception_ptr last;
    while (cleanup != nullptr) {
        const std::unique_ptr<deferred> each(std::exchange(cleanup, cleanup->next));
        outcome<void> done = co_await settle(each->invoke());
        if (std::exception_ptr error = done.error()) {
            if (std::exception_ptr former = std::exchange(last, std::move(error))) {
                loop::current().tell({report_kind::suppressed_error,
                                      "deferred clean-up failed: " + describe(former), former, current_task(), {}});
            }
        }
    }
    if (last != nullptr) {
        std::rethrow_exception(last);
    }
}

void promise_base::leave_through_cleanup(fiber& on) noexcept {
    auto* runner = new cleanup_runner(std::exchange(cleanup, nullptr), *parent);
    this_thread.next = runner->start_after(*this, on).word();
}

next_step run_cleanup_in_walk(deferred* cleanup, frame& parent, fiber& on, walk& by) noexcept {
    auto* runner = new cleanup_runner(cleanup, parent);
    return runner->start_within(by.target, on);
}

}  // namespace weir::detail
