// SPDX-License-Identifier: MIT
// Deferred clean-up runs on the fiber that ends the frame, under a boundary of its own that shields
// it. The frame either still exists (its body has ended, its result waits to be fetched) or was
// destroyed by a walk; an error goes into its result, or is thrown at the caller in its place.

#include "core/loop/loop_state.hpp"

#include <weir/cancel.hpp>
#include <weir/detail/cleanup.hpp>

namespace weir::detail {

namespace {

// Owns registrations: those that do not run, because the loop is past its deadline, are destroyed.
class deferred_list {
public:
    explicit deferred_list(deferred* first) noexcept : first_(first) {}
    deferred_list(deferred_list&& other) noexcept : first_(std::exchange(other.first_, nullptr)) {}
    deferred_list& operator=(deferred_list&&) = delete;
    ~deferred_list() {
        while (take() != nullptr) {
        }
    }
    std::unique_ptr<deferred> take() noexcept {
        std::unique_ptr<deferred> taken(first_);
        if (taken != nullptr) {
            first_ = taken->next;
        }
        return taken;
    }

private:
    deferred* first_;
};

task<void> run_one(deferred& each) {
    co_await each.invoke();
}

// Runs all of a list in turn; the last error wins, the others are reported.
task<void> run_deferred(deferred_list cleanup) {
    std::exception_ptr last;
    for (std::unique_ptr<deferred> each = cleanup.take(); each != nullptr; each = cleanup.take()) {
        outcome<void> done = co_await settle(run_one(*each));
        if (std::exception_ptr error = done.error()) {
            if (std::exception_ptr former = std::exchange(last, std::move(error))) {
                loop::current().tell({report_kind::suppressed_error,
                                      "deferred clean-up failed: " + describe(former),
                                      former,
                                      current_task(),
                                      {}});
            }
        }
    }
    if (last != nullptr) {
        std::rethrow_exception(last);
    }
}

class cleanup_runner final : public scope {
public:
    static constexpr const char* boundary_name = "defer";

    cleanup_runner(deferred* cleanup, frame& caller)
        : scope(table_of<cleanup_runner>),
          settle_(cleanup->settle),
          work_(run_deferred(deferred_list(cleanup))) {
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
    next_step stopped(fiber& on, walk& stop) noexcept {
        leave_scope(*this);
        work_.lost();
        if (stop.error != nullptr) {
            return go_on(on, std::move(stop.error));
        }
        const next_step next = let_pass(*this, on);  // past the loop's deadline
        delete this;
        return next;
    }

private:
    next_step go_on(fiber& on, std::exception_ptr error) noexcept {
        const std::unique_ptr<cleanup_runner> self(this);
        if (ended_ != nullptr) {
            error = settle_(*ended_, std::move(error));
            if (on.has(stop_pending) && !beats_stop(error)) {
                resume_thrown_stop(on, error);
                on.top = ended_;  // stop beats value
                return next_step::walk_on();
            }
            return return_to_parent(*this, on);
        }
        if (beats_stop(error)) {
            request_answered(on, stop_target_);
            return inject_error(on, *parent, std::move(error));
        }
        on.top = parent;
        return continue_stop(on, stop_target_);
    }

    settle_function settle_;
    child_call<void> work_;
    promise_base* ended_ = nullptr;
    frame* stop_target_ = nullptr;
};

}  // namespace

void promise_base::leave_through_cleanup(fiber& on) noexcept {
    auto* runner = new cleanup_runner(std::exchange(cleanup, nullptr), *parent);
    this_thread.next = runner->start_after(*this, on).word();
}

next_step run_cleanup_in_walk(deferred* cleanup, frame& parent, fiber& on, walk& stop) noexcept {
    auto* runner = new cleanup_runner(cleanup, parent);
    return runner->start_within(stop.target, on);
}

}  // namespace weir::detail
