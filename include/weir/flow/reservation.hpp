// SPDX-License-Identifier: MIT
// reservation: a place in the line of a limiter, held without waiting in it.
//
//     auto place = bucket.reserve(3).value();
//     prepare(until = place.when());
//     co_await place.wait();              // and used
//
// Not used, it is given back when it goes: those behind it move up, and the limiter is as if it had
// never been asked. If its turn has come by then, what has been refilled since is not given back
// twice.
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
    reservation_wait* awaited_by_ = nullptr;  // until its fiber has gone on
    bool is_spent_ = false;                   // nobody holds it: it goes when its turn has come
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

    // When its turn comes, as things stand: earlier, if others ahead of it cancel; later, if the
    // rate is lowered; the end of time if it was refused after all. Once its turn has come: when
    // that was. Throws invalid_state if it was used or cancelled.
    clock::time_point when() const;
    // Has its turn come?
    bool is_due() const noexcept {
        return place_ != nullptr && place_->state_ == detail::wait_state::granted;
    }
    // co_await wait(): until its turn has come; it is used then. Gives how long that was since it
    // was made. Throws refused if it was displaced, or a change of the rate made it impossible, and
    // invalid_state if the limiter is gone, or another task has used or cancelled it meanwhile. One
    // task at a time.
    [[nodiscard]] detail::reservation_wait wait();
    // It is used, whether its turn has come or not: nothing is given back. For those who wait by
    // other means.
    void use() noexcept;
    // It is not used. Nothing if it was used or cancelled.
    void cancel() noexcept;
    // Is there anything to use or to cancel?
    explicit operator bool() const noexcept { return place_ != nullptr; }

private:
    template <decision::limiter_decision, class>
    friend class limiter;
    friend class detail::reservation_wait;
    explicit reservation(std::unique_ptr<detail::reserved_place> place) noexcept
        : place_(std::move(place)) {}
    // Asks the line. Throws invalid_state if it belongs to another loop.
    static admission<reservation> ask(detail::limiter_line& line, double weight);
    detail::reserved_place& checked() const;
    // Tells the one who waits for it where it is now.
    void moved() noexcept;
    // Tells the one who waits for it that it is no more.
    void dismiss() noexcept;

    std::unique_ptr<detail::reserved_place> place_;
};

namespace detail {

class [[nodiscard]] reservation_wait final : public operation {
public:
    explicit reservation_wait(reservation& of) noexcept : of_(&of) {}
    reservation_wait(reservation_wait&& other) noexcept : operation(), of_(other.of_) {}
    ~reservation_wait() { detach(); }

    bool ready() noexcept override {
        return of_->place_ == nullptr || of_->place_->state_ != wait_state::waiting;
    }
    bool start() noexcept override {
        of_->place_->awaited_by_ = this;
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
            of_->place_->awaited_by_ = nullptr;
        }
    }

    reservation* of_;  // null: it has gone meanwhile
    bool is_attached_ = false;
};

}  // namespace detail

}  // namespace weir
