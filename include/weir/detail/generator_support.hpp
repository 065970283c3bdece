// SPDX-License-Identifier: MIT
// The parts of a generator that do not depend on what it yields.
#pragma once

#include <weir/base/child_call.hpp>
#include <weir/base/closable.hpp>
#include <weir/detail/cleanup.hpp>

#include <cstdint>
#include <exception>

namespace weir::detail {

struct generator_promise_base;
class next_boundary;

enum class generator_end : unsigned char { ended, stopped };

// The object that users hold. May be moved whenever it likes: the promise knows where it is. Away
// from the thread of its loop, it may be moved and destroyed, unless a next() is in progress.
class generator_base {
public:
    generator_base() noexcept = default;
    explicit generator_base(generator_promise_base& made) noexcept;
    generator_base(generator_base&& other) noexcept { take_over(other); }
    generator_base& operator=(generator_base&& other) noexcept;
    ~generator_base() { abandon(); }

    // The body exists: it has not ended, was not stopped, and was not closed.
    bool is_open() const noexcept { return promise_ != nullptr; }

private:
    friend struct generator_promise_base;
    friend class next_boundary;
    friend task<void> close_generator(generator_base& closed);
    void take_over(generator_base& other) noexcept;
    void abandon() noexcept;
    void abandon_elsewhere() noexcept;
    // Is the body's loop running on this thread? True as well before the first next().
    bool is_at_home() const noexcept {
        return loop_ == 0 || (this_thread.loop != nullptr && this_thread.loop->id() == loop_);
    }

    generator_promise_base* promise_ = nullptr;
    std::uint32_t loop_ = 0;  // the id of the loop on which the body was started; 0: none yet
    generator_end end_ = generator_end::ended;  // when there is no promise
};

struct generator_promise_base : promise_base, closable {
    enum class state : unsigned char { unstarted, running, at_yield, ended };

    generator_base* owner = nullptr;  // null: dropped while it was running
    void* yielded = nullptr;          // at a yield: the value, in the body's frame
    result<void> outcome;             // the error of the body, or of its clean-up
    state now = state::unstarted;
    bool is_going_home = false;  // was dropped on another thread, and is in the loop's inbox

    generator_promise_base() noexcept = default;
    ~generator_promise_base();

    void return_void() const noexcept {}
    void unhandled_exception() noexcept { outcome.set_error(std::current_exception()); }

    // Goes back to the coroutine that awaits next().
    void suspend_at_yield() noexcept {
        now = state::at_yield;
        fiber& on = *this_thread.running;
        frame* const consumer = parent->parent;
        on.top = consumer;
        this_thread.next = consumer->coroutine();
    }

    // Destroys the body and gives its clean-up to the caller.
    deferred* end() noexcept;
    // Destroys the body and has the loop run its clean-up.
    void end_in_background() noexcept;
    // Sends it to its loop, which ends it. False if the loop is closed.
    bool go_home() noexcept;
    void leave_at_shutdown(bool closes) noexcept override;
    void close_at_shutdown() noexcept override;
};

// On the stack between the body and the coroutine that awaits next(): stops end here, so that the
// generator can handle them.
class next_boundary : public boundary {
public:
    static constexpr const char* boundary_name = "generator";

    explicit next_boundary(generator_base& source) noexcept
        : boundary(table_of<next_boundary>), source_(&source) {}

    next_step advance(fiber& on) noexcept;
    next_step stopped(fiber& on, walk& stop) noexcept;
    void enter(fiber& on) noexcept;

protected:
    // True if there is nothing to run: the end, or a mistake.
    bool is_decided() noexcept;
    // The promise that is suspended at a yield; null at the end. Throws.
    generator_promise_base* check_item();

private:
    friend struct generator_promise_base;
    enum class stage : unsigned char { fresh, must_yield, queued, running, used };
    enum class mistake : unsigned char { none, busy, awaited_twice, other_loop, stopped };
    next_step start(fiber& on) noexcept;
    [[noreturn]] void throw_mistake() const;

    generator_base* source_;
    generator_promise_base* promise_ = nullptr;  // while its body runs
    std::exception_ptr error_;
    generator_promise_base::state before_{};
    stage stage_ = stage::fresh;
    mistake mistake_ = mistake::none;
};

// After the value was fetched: a generator that was dropped while its body ran ends here.
struct release_orphan {
    generator_promise_base& fetched;
    ~release_orphan() {
        if (fetched.owner == nullptr) [[unlikely]] {
            fetched.end_in_background();
        }
    }
};

task<void> close_generator(generator_base& closed);

}  // namespace weir::detail
