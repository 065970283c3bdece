// SPDX-License-Identifier: MIT
// Decides when to ping the peer and when to give it up, and measures round trips. It sends nothing
// itself.
#pragma once

#include <weir/clock.hpp>
#include <weir/sync/event.hpp>
#include <weir/ws/options.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::ws::detail {

class keep_alive {
public:
    using time = clock::time_point;
    using payload = std::array<char, 8>;

    explicit keep_alive(const connection_options& options);

    // The peer is alive: it sent something, or took what it had no room for before.
    void note_life_sign() noexcept { ++life_signs_; }

    // The content of a ping that is sent now; last_ping() is its number.
    payload start_ping();
    std::uint64_t last_ping() const noexcept { return last_ping_; }
    void take_pong(std::string_view content);
    bool is_answered(std::uint64_t ping) const noexcept { return last_pong_ >= ping; }
    auto wait_for_pong() noexcept {
        pong_.clear();
        return pong_.wait();
    }
    void wake() { pong_.set(); }
    clock::duration round_trip() const noexcept { return round_trip_; }

    struct verdict {
        time next_check = time::max();
        bool is_ping_due = false;
        bool is_lost = false;
    };
    // is_blocked: no pong can be expected, since the last ping is not sent yet or nothing is read.
    verdict check(time now, bool is_blocked);

private:
    static constexpr time never = time::max();

    clock::duration interval_;
    clock::duration timeout_;
    time next_ping_ = never;
    time deadline_ = never;  // of the ping that waits for a life sign
    time pinged_at_{};
    clock::duration round_trip_{};
    std::uint64_t life_signs_ = 0;
    std::uint64_t signs_at_ping_ = 0;  // life_signs_ when deadline_ was set
    std::uint64_t last_ping_ = 0;
    std::uint64_t last_pong_ = 0;
    event pong_;
};

}  // namespace weir::ws::detail
