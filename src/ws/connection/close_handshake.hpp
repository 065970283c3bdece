// SPDX-License-Identifier: MIT
// How far a connection is on its way to the end: why it ended, the answer that the peer's close
// frame still gets, and the deadlines of both. It sends nothing itself.
#pragma once

#include <weir/clock.hpp>
#include <weir/sync/event.hpp>
#include <weir/ws/close_code.hpp>
#include <weir/ws/frame.hpp>

#include <optional>
#include <string>
#include <utility>

namespace weir::ws::detail {

// Why a connection ended, as the handler is told.
struct connection_end {
    close_code code = close_code::abnormal;
    std::string reason{};
    std::string message{};      // of the exception
    bool is_regular = false;    // receive() gives an empty optional instead of throwing
    bool is_violation = false;  // the exception is protocol_error

    [[noreturn]] void raise() const;
};

class close_handshake {
public:
    using time = clock::time_point;

    explicit close_handshake(clock::duration timeout) noexcept : timeout_(timeout) {}

    // The first end counts. It is regular whatever the peer answers if we began to close.
    void end_with(connection_end how);
    const std::optional<connection_end>& end() const noexcept { return end_; }
    auto wait_for_end() noexcept { return ended_.wait(); }
    void set_closed_by_us() noexcept { is_closed_by_us_ = true; }

    // Our close frame is queued: the peer has until the deadline.
    void start() noexcept;
    // The same without a close frame, unless a deadline runs already.
    void limit() noexcept;

    // The close frame that answers the peer's. It waits for the handler, but not for ever.
    void set_answer(frame answer) noexcept { answer_ = std::move(answer); }
    void delay_answer() noexcept;
    // Empty if there is none, or it has been taken.
    frame take_answer() noexcept { return std::exchange(answer_, {}); }

    bool is_overdue(time now) const noexcept { return now >= deadline_; }
    bool is_answer_due(time now) const noexcept { return now >= answer_at_; }
    time next_check() const noexcept;
    void forget_deadline() noexcept { deadline_ = never; }

private:
    static constexpr time never = time::max();

    clock::duration timeout_;
    std::optional<connection_end> end_;
    event ended_;
    frame answer_;
    time answer_at_ = never;  // sent then even if the handler is still at work
    time deadline_ = never;
    bool is_closed_by_us_ = false;
};

}  // namespace weir::ws::detail
