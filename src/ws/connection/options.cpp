// SPDX-License-Identifier: MIT
// Checks the limits of a connection.

#include "base/option_checks.hpp"

#include <weir/ws/options.hpp>

namespace weir::ws {

namespace {

void check_positive(const char* option, std::size_t value) {
    if (value == 0) {
        weir::detail::throw_bad_option("ws", option, 0, "at least 1");
    }
}

void check_positive(const char* option, clock::duration value) {
    if (value <= clock::duration::zero()) {
        weir::detail::throw_bad_option("ws", option, value, "longer than 0");
    }
}

}  // namespace

void check(const connection_options& options) {
    check_positive("max_message", options.max_message);
    check_positive("max_frames", options.max_frames);
    check_positive("inbox_messages", options.inbox_messages);
    check_positive("outbox_bytes", options.outbox_bytes);
    check_positive("outbox_messages", options.outbox_messages);
    if (options.ping_interval < clock::duration::zero()) {
        weir::detail::throw_bad_option("ws", "ping_interval", options.ping_interval,
                                       "a time, or 0 for no pings");
    }
    check_positive("ping_timeout", options.ping_timeout);
    check_positive("write_timeout", options.write_timeout);
    check_positive("close_timeout", options.close_timeout);
}

}  // namespace weir::ws
