// SPDX-License-Identifier: MIT
// A reservation is a waiter without a fiber: the line admits it in its turn, and it leaves the line
// like a stopped fiber. A reservation that is used before its turn owns itself until then.

#include <weir/error.hpp>
#include <weir/flow/reservation.hpp>

namespace weir {

namespace {

[[noreturn]] void throw_no_reservation() {
    throw invalid_state("reservation: already used or cancelled");
}

}  // namespace

namespace detail {

void reserved_place::notify(loop_core& home) noexcept {
    if (is_spent_) {
        if (state_ == wait_state::granted) {
            line_->complete(*this);
        }
        delete this;
    } else if (awaited_by_ != nullptr) {
        awaited_by_->complete_on(home);
    }
}

clock::duration reservation_wait::resume() {
    detach();
    if (reservation_ == nullptr) {
        throw_no_reservation();
    }
    reserved_place& place = reservation_->checked();
    const clock::duration waited = place.granted_ - place.since_;
    switch (place.state_) {
        case wait_state::granted:
            reservation_->use();
            return waited;
        case wait_state::refused:
            throw refused(place.why_, place.line_->name());
        default:
            throw_wait_error(place.state_, "rate limiter");
    }
}

}  // namespace detail

admission<reservation> reservation::place(detail::limiter_line& line, double weight) {
    auto place = std::make_unique<detail::reserved_place>(line, weight);
    switch (line.place(*place, now())) {
        case detail::wait_state::refused:
            return place->why_;
        case detail::wait_state::wrong_loop:
            detail::throw_wait_error(detail::wait_state::wrong_loop, "rate limiter");
        default:
            return reservation(std::move(place));
    }
}

detail::reserved_place& reservation::checked() const {
    if (place_ == nullptr) {
        throw_no_reservation();
    }
    return *place_;
}

clock::time_point reservation::when() const {
    detail::reserved_place& place = checked();
    switch (place.state_) {
        case detail::wait_state::granted:
            return place.granted_;
        case detail::wait_state::waiting:
            return place.line_->due_of(now(), place);
        default:
            return clock::time_point::max();
    }
}

detail::reservation_wait reservation::wait() {
    if (checked().awaited_by_ != nullptr) {
        throw invalid_state("reservation: another task is waiting for it");
    }
    return detail::reservation_wait(*this);
}

void reservation::moved() noexcept {
    if (place_ != nullptr && place_->awaited_by_ != nullptr) {
        place_->awaited_by_->reservation_ = this;
    }
}

void reservation::dismiss() noexcept {
    if (detail::reservation_wait* const waiting = std::exchange(place_->awaited_by_, nullptr)) {
        waiting->reservation_ = nullptr;
        waiting->is_attached_ = false;
        if (place_->state_ == detail::wait_state::waiting) {
            waiting->complete_on(waiting->waiter().home());
        }  // otherwise it has been resumed already
    }
}

void reservation::use() noexcept {
    if (place_ == nullptr) {
        return;
    }
    dismiss();
    if (place_->state_ == detail::wait_state::granted) {
        place_->line_->complete(*place_);
    } else if (place_->state_ == detail::wait_state::waiting) {
        place_.release()->is_spent_ = true;
    }
    place_.reset();
}

void reservation::cancel() noexcept {
    if (place_ == nullptr) {
        return;
    }
    dismiss();
    const std::unique_ptr<detail::reserved_place> gone = std::move(place_);
    if (gone->state_ == detail::wait_state::granted ||
        gone->state_ == detail::wait_state::waiting) {
        gone->line_->leave(*gone);
    }
}

}  // namespace weir
