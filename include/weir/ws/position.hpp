// SPDX-License-Identifier: MIT
// How far a client has come in a topic of a ws::hub: the number of the last message it has seen,
// and the life of the topic that the number belongs to.
//
//     const std::string token = at.text();                        // '9c1f0a2b5d6e7f80-17'
//     const auto seen = weir::ws::position::parse(token);         // empty if it is none
//
// Numbers count the messages of one topic, from 1, without gaps. A server that was restarted and a
// topic that was forgotten meanwhile count from 1 again, in another epoch: a token of before is
// recognised as such and never taken for a number of now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::ws {

struct position {
    std::uint64_t epoch = 0;   // 0: of no topic; the client has seen nothing
    std::uint64_t number = 0;  // 0: before the first message

    friend bool operator==(const position&, const position&) = default;
    std::string text() const;
    // Of what text() gives, and nothing else.
    static std::optional<position> parse(std::string_view token) noexcept;
};

// What hub.join found between a client's position and the present.
struct catch_up {
    std::uint64_t replayed = 0;  // posted to the client by join, in order
    std::uint64_t missed = 0;    // older ones that it has not seen, and that are gone
    // False: the client's position is not one of this topic as it is now; the server was restarted,
    // or the topic was forgotten. Then nobody knows what it has missed before, and it should begin
    // afresh: both numbers count from the topic's first message.
    bool is_known = true;
    position at{};  // where the client is now; live messages follow on it
};

}  // namespace weir::ws
