// SPDX-License-Identifier: MIT
// Pings carry a number, so that a pong tells which of them it answers. A deadline runs from a ping
// to the next life sign of any kind: the pong itself may be behind a long message.

#include "ws/connection/keep_alive.hpp"

#include <weir/loop.hpp>

#include <algorithm>

namespace weir::ws::detail {

keep_alive::keep_alive(const connection_options& options)
    : interval_(options.ping_interval), timeout_(options.ping_timeout) {
    if (interval_ > clock::duration::zero()) {
        next_ping_ = weir::detail::after(now(), interval_);
    }
}

keep_alive::payload keep_alive::start_ping() {
    payload content;
    ++last_ping_;
    for (std::size_t at = 0; at < content.size(); ++at) {
        content[at] = static_cast<char>(last_ping_ >> (56 - 8 * at) & 0xFFU);
    }
    pinged_at_ = now();
    return content;
}

void keep_alive::take_pong(std::string_view content) {
    if (content.size() != payload().size()) {
        return;  // unsolicited: allowed, and without a meaning
    }
    std::uint64_t number = 0;
    for (const char each : content) {
        number = number << 8 | static_cast<unsigned char>(each);
    }
    if (number <= last_pong_ || number > last_ping_) {
        return;
    }
    last_pong_ = number;
    if (number == last_ping_) {
        round_trip_ = now() - pinged_at_;
    }
    pong_.set();
}

keep_alive::verdict keep_alive::check(time now, bool is_blocked) {
    verdict result;
    if (next_ping_ == never) {
        return result;
    }
    if (life_signs_ != signs_at_ping_) {
        deadline_ = never;
    } else if (deadline_ != never && is_blocked) {
        deadline_ = weir::detail::after(now, timeout_);
    } else if (now >= deadline_) {
        result.is_lost = true;
        return result;
    }
    if (now >= next_ping_) {
        result.is_ping_due = true;
        next_ping_ = weir::detail::after(now, interval_);
        if (deadline_ == never) {
            deadline_ = weir::detail::after(now, timeout_);
            signs_at_ping_ = life_signs_;
        }
    }
    result.next_check = std::min(next_ping_, deadline_);
    return result;
}

}  // namespace weir::ws::detail
