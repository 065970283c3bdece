// SPDX-License-Identifier: MIT
// crew: the background tasks of a stream, which read its source and process items.
//
// They cannot run in a with_group, whose body would have to yield values out of the middle. So the
// state of such a stream is on the heap, derives from crew, and is passed to weir::closing in the
// stream's body: however that body ends (its end, an error, a stop, close(), or destruction), the
// crew is stopped and awaited, and then the source is closed. A destruction cannot await: it ends
// the members where they are suspended. Those that still have to wait for something (a clean-up, a
// shield) are given up, which is reported: nothing of them runs again, since what they refer to
// goes next.
//
// Members inherit the deadlines around the creation of the stream, as children of a group do. A
// timeout around a single next() is not inherited: the members also work for later values.
#pragma once

#include <weir/detail/fiber_box.hpp>
#include <weir/detail/timed_scope.hpp>
#include <weir/generator.hpp>
#include <weir/handle.hpp>
#include <weir/sync/event.hpp>

#include <memory>
#include <optional>

namespace weir::detail {

// Stands for the scopes around the creation of a stream; the work is not in it.
class inherited_deadline final : public timed_scope {
public:
    using timed_scope::timed_scope;
};

class crew : private child_observer {
public:
    crew() noexcept;
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;
    virtual ~crew();

    // Returns an empty handle if the crew is being stopped.
    template <class T>
    handle<T> start(task<T>&& work, std::string_view name = {}) {
        if (group_ == nullptr) {
            form();
        }
        if (is_stopping_) {
            work.discard();
            return {};
        }
        start_options options;
        options.name = name;
        return handle<T>(start_fiber(*group_, std::move(work), options));
    }
    // Stops all members and waits for their ends.
    task<void> stop();
    // The same for a stream that is being destroyed, which cannot wait: stops all members and ends
    // those that wait for nothing but the loop or the kernel; the others are given up. True: none
    // is left. False: one of them is running, and has dropped the stream itself.
    bool stop_now() noexcept;
    bool is_stopping() const noexcept { return is_stopping_; }
    // Called in each next(). If the deadline around it is later than the inherited one, that was
    // moved, or its scope was left.
    void renew_deadline() noexcept;

    // Set when a member has ended, and by the owner when the consumer of the stream has to look.
    event changed;

protected:
    virtual void member_ended(fiber&) noexcept {}

private:
    void form();
    void give_up_members() noexcept;
    void inherit(clock::time_point deadline) noexcept;
    void child_ended(fiber& ended) noexcept override;

    group_state* group_ = nullptr;
    // Around the group, for current_deadline(). Never entered.
    std::optional<inherited_deadline> inherited_;
    bool is_stopping_ = false;
};

// The owner of a stream's state, for weir::closing. State is a crew with close_sources().
template <class State>
class stream_owner {
public:
    explicit stream_owner(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
    stream_owner(stream_owner&&) noexcept = default;
    State& state() noexcept { return *state_; }
    task<void> close() { return end(std::move(state_)); }
    // The stream was destroyed before its end. The locals of the coroutine that owned it are next,
    // and calls may refer to them: what can be ended now must be. True: nothing is left to await.
    bool drop() noexcept {
        if (!state_->stop_now()) {
            return false;
        }
        if constexpr (requires { requires !State::awaits_sources; }) {
            state_.reset();
            return true;
        }
        return false;
    }

private:
    static task<void> end(std::unique_ptr<State> state) {
        co_await state->stop();
        co_await state->close_sources();
    }
    std::unique_ptr<State> state_;
};

// Yields the values of the state until its end. State is a crew with
//     begin()           starts its work
//     bool ready()      take() can return a value or throw
//     bool at_end()     no more values will come
//     take()            the next value
//     check_end()       throws the error of a source, if any
template <class State>
generator<typename State::value_type> deliver(stream_owner<State> owner) {
    stream_owner<State>& owned = co_await closing(std::move(owner));
    State& state = owned.state();
    state.begin();
    for (;;) {
        state.renew_deadline();
        while (!state.ready() && !state.at_end()) {
            co_await state.changed.wait();
            state.changed.clear();
        }
        if (!state.ready()) {
            break;
        }
        auto value = state.take();
        co_yield moved(value);
    }
    state.check_end();
}

}  // namespace weir::detail
