// SPDX-License-Identifier: MIT
// Shared by the tests of streams.
#pragma once

#include <weir/detail/frame_pool.hpp>
#include <weir/io/error.hpp>
#include <weir/io/read.hpp>
#include <weir/testing/io/simulated_network.hpp>
#include <weir/testing/testing.hpp>

#include <cstdint>
#include <string>

namespace stream_tests {

using namespace std::chrono_literals;
namespace io = weir::io;
using weir::task;
using weir::testing::link_options;
using weir::testing::network_stats;
using weir::testing::simulated_listener;
using weir::testing::simulated_network;
using weir::testing::simulated_stream;

// So many runs of a property, fewer where a sanitizer slows them down tenfold.
constexpr std::uint64_t runs(std::uint64_t many) {
    return WEIR_RECYCLES_FRAMES != 0 ? many : many / 10;
}

class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
    std::size_t below(std::size_t end) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::size_t>((state_ >> 11) % end);
    }
    bool flip() { return below(2) == 1; }
    std::chrono::microseconds time(std::size_t most) {
        return std::chrono::microseconds(below(most));
    }

private:
    std::uint64_t state_;
};

// Bytes by whose value one sees where they belong.
inline std::string pattern(std::size_t size) {
    std::string made(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
        made[i] = static_cast<char>('a' + (i * 31 + i / 7) % 26);
    }
    return made;
}

// Writes and then ends its direction.
inline task<> send(simulated_stream& to, std::string data) {
    co_await to.write(data);
    co_await to.close_write();
}

// A new lossless network for each schedule.
inline link_options rough() {
    return link_options::drawn_from(weir::testing::current_seed());
}

}  // namespace stream_tests
