// SPDX-License-Identifier: MIT
// reservation: a place in the line of a limiter, held without waiting.
//
//     auto place = bucket.reserve(3).value();
//     prepare(until = place.when());
//     co_await place.wait();              // then it is used
//
// The destructor gives an unused reservation back: the waiters behind it move up. If its turn has
// come by then, only the tokens that have not been refilled since are given back.
#pragma once

#include <weir/flow/detail/limiter_line.hpp>

#include <memory>
#include <utility>

namespace weir {

namespace detail {

class reservation_wait;

class reserved_place final : public limiter_waiter {
public:
    reserved_place(limiter_line& line, double weight) noexcept
        : limiter_waiter(weight), line_(&line) {}

private:
    friend class weir::reservation;
    friend class reservation_wait;
    void notify(loop_core& home) noexcept override;

    limiter_line* line_;
    reservation_wait* awaited_by_ = nullptr;  // until its fiber has continued
    bool is_spent_ = false;  // not held by a reservation: deletes itself when its turn has come
};

}  // namespace detail

class [[nodiscard]] reservation {
public:
    reservation(reservation&& other) noexcept : place_(std::move(other.place_)) { moved(); }
    reservation& operator=(reservation&& other) noexcept {
        reservation old(std::move(*this));
        place_ = std::move(other.place_);
        moved();
        return *this;
    }
    ~reservation() { cancel(); }

    // The predicted time of its turn: it may become earlier if others ahead cancel, or later if the
    // rate is lowered; time_point::max() if it was refused since. After its turn: the time of the
    // turn. Throws invalid_state if it was used or cancelled.
    clock::time_point when() const;
    // Whether its turn has come.
    bool is_due() const noexcept {
        return place_ != nullptr && place_->state_ == detail::wait_state::granted;
    }
    // co_await wait(): waits for its turn and uses it. Returns the time since the reservation was
    // made. Throws refused if it was displaced or a change of the rate made it impossible, and
    // invalid_state if the limiter was destroyed, or another task has used or cancelled the
    // reservation. One task at a time may wait.
    detail::reservation_wait wait();
    // Uses it, whether its turn has come or not: nothing is given back. For callers that wait by
    // other means.
    void use() noexcept;
    // Gives it back. Does nothing if it was used or cancelled.
    void cancel() noexcept;
    // Whether it can be used or cancelled.
    explicit operator bool() const noexcept { return place_ != nullptr; }

private:
    template <decision::limiter_decision, class>
    friend class limiter;
    friend class detail::reservation_wait;
    explicit reservation(std::unique_ptr<detail::reserved_place> place) noexcept
        : place_(std::move(place)) {}
    // Throws invalid_state if the line belongs to another loop.
    static admission<reservation> place(detail::limiter_line& line, double weight);
    detail::reserved_place& checked() const;
    // Updates the pointer of the waiting operation.
    void moved() noexcept;
    // Ends the waiting operation.
    void dismiss() noexcept;

    std::unique_ptr<detail::reserved_place> place_;
};

namespace detail {

class WEIR_MUST_AWAIT reservation_wait final : public operation {
public:
    explicit reservation_wait(reservation& place) noexcept : reservation_(&place) {}
    reservation_wait(reservation_wait&& other) noexcept
        : operation(), reservation_(other.reservation_) {}
    ~reservation_wait() { detach(); }

    bool ready() noexcept override {
        return reservation_->place_ == nullptr ||
               reservation_->place_->state_ != wait_state::waiting;
    }
    bool start() noexcept override {
        reservation_->place_->awaited_by_ = this;
        is_attached_ = true;
        return true;
    }
    bool cancel() noexcept override {
        detach();
        return true;
    }
    const char* name() const noexcept override { return "reservation.wait"; }
    clock::duration resume();

private:
    friend class reserved_place;
    friend class weir::reservation;
    void detach() noexcept {
        if (std::exchange(is_attached_, false)) {
            reservation_->place_->awaited_by_ = nullptr;
        }
    }

    reservation* reservation_;  // null: destroyed, used or cancelled meanwhile
    bool is_attached_ = false;
};

}  // namespace detail

}  // namespace weir
