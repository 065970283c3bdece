// SPDX-License-Identifier: MIT
// A reservation is a waiter like any other, with no fiber behind it: the line serves it in its turn, and
// it leaves the line as a stopped fiber would. One that was used before its turn owns itself until then.

#include <weir/error.hpp>
#include <weir/flow/reservation.hpp>

namespace weir {

namespace detail {

void reserved_place::answered(loop_core& home) noexcept {
    if (is_spent_) {
        if (state_ == wait_state::granted) {
            line_->went_on(*this);
        }
        delete this;
    } else if (awaited_by_ != nullptr) {
        std::exchange(awaited_by_, nullptr)->complete_on(home);
    }
}

clock::duration reservation_wait::resume() {
    reserved_place& place = *of_->place_;
    const clock::duration waited = place.granted_ - place.since_;
    switch (place.state_) {
        case wait_state::granted:
            of_->use();
            return waited;
        case wait_state::refused:
            throw refused(place.why_, place.line_->name());
        default:
            throw_wait_error(place.state_, "rate limiter");
    }
}

}  // namespace detail

admission<reservation> reservation::ask(detail::limiter_line& line, double weight) {
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
        throw invalid_state("reservation: it was used or cancelled");
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
        throw invalid_state("reservation: another task waits for it");
    }
    return detail::reservation_wait(*this);
}

void reservation::use() noexcept {
    if (place_ == nullptr) {
        return;
    }
    if (place_->state_ == detail::wait_state::granted) {
        place_->line_->went_on(*place_);
    } else if (place_->state_ == detail::wait_state::waiting) {
        place_.release()->is_spent_ = true;
    }
    place_.reset();
}

void reservation::cancel() noexcept {
    if (place_ == nullptr) {
        return;
    }
    const std::unique_ptr<detail::reserved_place> gone = std::move(place_);
    if (gone->state_ == detail::wait_state::granted ||
        gone->state_ == detail::wait_state::waiting) {
        gone->line_->leave(*gone);
    }
}

}  // namespace weir
