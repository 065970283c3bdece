// SPDX-License-Identifier: MIT
// The reasons for the end of a WebSocket connection (RFC 6455, section 7.4). Applications may use
// 4000 to 4999: ws::close_code(4001).
#pragma once

#include <cstdint>

namespace weir::ws {

enum class close_code : std::uint16_t {
    normal = 1000,
    going_away = 1001,      // the server shuts down, the page is left
    protocol_error = 1002,  // the peer violated the protocol
    unsupported = 1003,     // binary instead of text, or text instead of binary
    none = 1005,            // never sent: the peer gave no code
    abnormal = 1006,        // never sent: the connection ended without a close frame
    invalid_data = 1007,    // a text that is not UTF-8
    policy_violation = 1008,
    too_big = 1009,
    extension_missing = 1010,
    internal_error = 1011,
    restarting = 1012,
    try_again_later = 1013,
    bad_gateway = 1014,
};

constexpr unsigned number_of(close_code code) noexcept {
    return static_cast<unsigned>(code);
}
// Whether the code may be sent in a close frame: not 1005, 1006, 1015, nor numbers without a
// meaning.
constexpr bool may_be_sent(close_code code) noexcept {
    const unsigned number = number_of(code);
    return (number >= 1000 && number <= 1014 && number != 1004 && number != 1005 &&
            number != 1006) ||
           (number >= 3000 && number <= 4999);
}
// Whether the connection ended as planned, by either side.
constexpr bool is_regular(close_code code) noexcept {
    return code == close_code::normal || code == close_code::going_away || code == close_code::none;
}

}  // namespace weir::ws
