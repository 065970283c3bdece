// SPDX-License-Identifier: MIT
// event: a flag that fibers wait for.
//
// set() wakes all fibers that wait, in the order they came, and wait() passes from then on until
// clear(). A fiber that was woken has seen the event, even if it is cleared, or destroyed, before
// the fiber runs. A stopped waiter just leaves. Belongs to one loop; made before there is one if
// need be. If it is destroyed unset while fibers wait, they throw invalid_state.
#pragma once

#include <weir/base/wait_list.hpp>

#include <utility>

namespace weir {

class event;

namespace detail {

class WEIR_MUST_AWAIT event_operation final : public listed_operation {
public:
    explicit event_operation(event& awaited) noexcept : event_(&awaited) {}
    event_operation(event_operation&&) noexcept = default;
    inline ~event_operation();

    inline bool ready() noexcept override;
    inline bool start() noexcept override;
    inline bool cancel() noexcept override;
    const char* name() const noexcept override { return "event.wait"; }
    void resume() {
        if (state_ > wait_state::granted) [[unlikely]] {
            throw_wait_error(std::exchange(state_, wait_state::idle), "event");
        }
    }

private:
    event* event_;
};

}  // namespace detail

class event {
public:
    constexpr event() noexcept = default;
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    ~event() { waiters_.orphan(); }

    void set() {
        waiters_.check_thread("event::set()");
        is_set_ = true;
        waiters_.release_waiting(detail::wait_state::granted);
    }
    void clear() noexcept { is_set_ = false; }
    bool is_set() const noexcept { return is_set_; }

    // co_await wait(): returns at once if the event is set, else when it is.
    detail::event_operation wait() noexcept { return detail::event_operation(*this); }

private:
    friend class detail::event_operation;

    detail::wait_list waiters_;
    bool is_set_ = false;
};

namespace detail {

inline event_operation::~event_operation() {
    if (state_ == wait_state::waiting) [[unlikely]] {
        event_->waiters_.remove(*this);
    }
}
inline bool event_operation::ready() noexcept {
    return event_->is_set_;
}
inline bool event_operation::start() noexcept {
    return event_->waiters_.enter(*this);
}
inline bool event_operation::cancel() noexcept {
    event_->waiters_.remove(*this);
    state_ = wait_state::idle;
    return true;
}

}  // namespace detail

}  // namespace weir
