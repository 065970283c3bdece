// SPDX-License-Identifier: MIT
// The rounds of a barrier.
//
// A round is complete when the number of waiters, including the arriving one, equals the number of
// parties. Places are assigned at that moment, in the order of the list, so they are distinct even
// if waiters left before. Until the last released fiber has resumed, or was stopped before,
// newcomers only queue up; then enough of them for a round are released in turn.

#include <weir/error.hpp>
#include <weir/sync/barrier.hpp>

#include <string>

namespace weir {

namespace detail {

barrier_operation::~barrier_operation() {
    if (state_ == wait_state::idle || barrier_ == nullptr) [[likely]] {
        return;
    }
    if (state_ == wait_state::waiting) {
        cancel();
    } else if (state_ == wait_state::granted) {
        barrier_->waiters_.remove_granted(*this);
        barrier_->one_left();
    }
}

bool barrier_operation::ready() noexcept {
    barrier& to = *barrier_;
    if (to.is_broken_) {
        state_ = wait_state::refused;
        return true;
    }
    if (to.leaving_ > 0 || to.arrived_ + 1 < to.parties_) {
        return false;
    }
    if (to.waiters_.has_waiting() &&
        &wait_list::at(to.waiters_.first_waiting()).waiting_fiber().home() != this_thread.loop) {
        return false;  // start() refuses it: the others wait on another loop
    }
    place_ = to.arrived_;
    to.release(to.arrived_);
    return true;
}

bool barrier_operation::start() noexcept {
    if (!barrier_->waiters_.enter(*this)) {
        return false;
    }
    ++barrier_->arrived_;
    return true;
}

bool barrier_operation::cancel() noexcept {
    barrier_->waiters_.remove(*this);
    --barrier_->arrived_;
    state_ = wait_state::idle;
    return true;
}

std::size_t barrier_operation::resume() {
    const wait_state state = std::exchange(state_, wait_state::idle);
    if (state == wait_state::refused) {
        throw broken_barrier();
    }
    if (state > wait_state::granted) {
        throw_wait_error(state, "barrier");
    }
    if (state == wait_state::granted && barrier_ != nullptr) {
        barrier_->waiters_.remove_granted(*this);
        barrier_->one_left();
    }
    return place_;
}

}  // namespace detail

barrier::barrier(std::ptrdiff_t parties) : parties_(static_cast<std::size_t>(parties)) {
    if (parties < 1) {
        throw invalid_argument("a barrier cannot have " + std::to_string(parties) + " parties");
    }
}

barrier::~barrier() {
    while (waiters_.has_granted()) {
        auto& released = static_cast<detail::barrier_operation&>(waiters_.first());
        waiters_.remove_granted(released);
        released.barrier_ = nullptr;
    }
    waiters_.orphan();
}

void barrier::release(std::size_t count) noexcept {
    arrived_ -= count;
    leaving_ += count;
    for (std::size_t place = 0; place < count; ++place) {
        static_cast<detail::barrier_operation&>(waiters_.grant_first()).place_ = place;
    }
}

void barrier::one_left() noexcept {
    --leaving_;
    if (leaving_ == 0 && arrived_ >= parties_) {
        release(parties_);
    }
}

void barrier::reset() {
    waiters_.check_thread("barrier::reset()");
    is_broken_ = false;
    const bool is_draining = leaving_ > 0;
    leaving_ = 0;
    waiters_.revoke_granted(detail::wait_state::refused);
    if (!is_draining) {
        arrived_ = 0;
        waiters_.release_waiting(detail::wait_state::refused);
    } else if (arrived_ >= parties_) {
        release(parties_);  // fibers that came early for the next round are not concerned
    }
}

void barrier::abort() {
    waiters_.check_thread("barrier::abort()");
    is_broken_ = true;
    arrived_ = 0;
    leaving_ = 0;
    waiters_.revoke_granted(detail::wait_state::refused);
    waiters_.release_waiting(detail::wait_state::refused);
}

}  // namespace weir
