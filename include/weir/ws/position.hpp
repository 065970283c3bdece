// SPDX-License-Identifier: MIT
// The position of a client in a topic of a ws::hub: the number of the last message that it has
// seen, and the epoch of the topic.
//
//     const std::string token = at.text();                        // '9c1f0a2b5d6e7f80-17'
//     const auto seen = weir::ws::position::parse(token);         // empty if it is none
//
// Numbers count the messages of one topic, from 1, without gaps. After a restart of the server, or
// when the topic was dropped meanwhile, numbers begin again at 1 in another epoch: a position of an
// earlier epoch is recognised, and never taken for one of now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::ws {

struct position {
    std::uint64_t epoch = 0;   // 0: the client has seen nothing
    std::uint64_t number = 0;  // 0: before the first message

    friend bool operator==(const position&, const position&) = default;
    std::string text() const;
    // Parses the result of text(); empty for any other text.
    static std::optional<position> parse(std::string_view token) noexcept;
};

// The messages between the position of a client and the present, as hub.join found them.
struct catch_up {
    std::uint64_t replayed = 0;  // posted by join, in order
    std::uint64_t missed =
        0;  // older messages that the client has not seen and that are not kept any more
    // False: the position is not of this epoch of the topic, since the server was restarted or the
    // topic dropped. The number of messages missed before is then unknown, and the client should
    // start afresh: both numbers count from the first message of this epoch.
    bool is_known = true;
    position at{};  // the position of the client now; live messages follow it
};

}  // namespace weir::ws
