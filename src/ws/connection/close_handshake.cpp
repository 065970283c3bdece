// SPDX-License-Identifier: MIT
// Two deadlines of close_timeout each: one for the peer's close frame after ours, one for the
// handler's last words after the peer's close frame.

#include "ws/connection/close_handshake.hpp"

#include <weir/loop.hpp>
#include <weir/ws/error.hpp>

#include <algorithm>

namespace weir::ws::detail {

void connection_end::raise() const {
    if (is_violation) {
        throw protocol_error(code, reason, message);
    }
    throw closed(code, reason, message);
}

void close_handshake::end_with(connection_end how) {
    if (!end_) {
        how.is_regular = how.is_regular || (is_closed_by_us_ && !how.is_violation);
        end_ = std::move(how);
    }
    ended_.set();
}

void close_handshake::start() noexcept {
    answer_at_ = never;
    deadline_ = weir::detail::after(now(), timeout_);
}

void close_handshake::limit() noexcept {
    if (deadline_ == never) {
        deadline_ = weir::detail::after(now(), timeout_);
    }
}

void close_handshake::delay_answer() noexcept {
    answer_at_ = weir::detail::after(now(), timeout_);
}

close_handshake::time close_handshake::next_check() const noexcept {
    return std::min(deadline_, answer_at_);
}

}  // namespace weir::ws::detail
