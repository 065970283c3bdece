// SPDX-License-Identifier: MIT
// The tasks that work for a stream in the background: those that read its source,
// and those that process items.
//
// They cannot be in a with_group, whose body would have to yield values out of the middle. So the
// state of such a stream lives on the heap, has a crew, and is given to weir::closing in the
// stream's body: however that ends, by its end, an error, a stop, close(), or by being dropped, the
// crew is stopped and awaited, and then the source is closed.
#pragma once

#include <weir/detail/fiber_box.hpp>
#include <weir/generator.hpp>
#include <weir/handle.hpp>
#include <weir/sync/event.hpp>

#include <memory>

namespace weir::detail {

class crew : private child_observer {
public:
    crew() noexcept = default;
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;
    virtual ~crew();

    // An empty handle once the crew is being stopped.
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
    // Stops all of them and waits for their ends.
    task<void> stop();
    bool is_stopping() const noexcept { return is_stopping_; }

    // Set when a member has ended, or the owner has news for the consumer of the stream.
    event changed;

protected:
    virtual void member_ended(fiber&) noexcept {}

private:
    void form();
    void child_ended(fiber& ended) noexcept override;

    group_state* group_ = nullptr;
    bool is_stopping_ = false;
};

// The state of a stream, as weir::closing takes it. State has a crew `workers` and close_sources().
template <class State>
class stream_owner {
public:
    explicit stream_owner(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
    stream_owner(stream_owner&&) noexcept = default;
    State& state() noexcept { return *state_; }
    task<void> close() { return end(std::move(state_)); }

private:
    static task<void> end(std::unique_ptr<State> state) {
        co_await state->stop();
        co_await state->close_sources();
    }
    std::unique_ptr<State> state_;
};

// Gives what the state has until it is at its end. State is a crew with
//     begin()           starts its work
//     bool ready()      take() has something to give, or to throw
//     bool at_end()     there will be nothing more
//     take()            the next value
//     check_end()       throws what the sources have ended with
template <class State>
generator<typename State::value_type> deliver(stream_owner<State> owner) {
    stream_owner<State>& owned = co_await closing(std::move(owner));
    State& state = owned.state();
    state.begin();
    for (;;) {
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
