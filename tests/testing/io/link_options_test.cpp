// SPDX-License-Identifier: MIT
// The options of simulated links: they are checked, and drawn from a seed.

#include "testing/io/stream_support.hpp"

#include <weir/testing/io/link_options.hpp>

namespace {

using namespace stream_tests;

TEST(LinkOptions, RefusesInvalidValuesByName) {
    const auto message = [](const link_options& options) {
        try {
            simulated_network net({.link = options});
        } catch (const weir::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_EQ(message({}), "accepted");
    EXPECT_NE(message({.latency = -1ms}).find("latency is -1000000ns; it must be"),
              std::string::npos);
    EXPECT_NE(message({.bandwidth = 1e-9}).find("bandwidth"), std::string::npos);
    EXPECT_NE(message({.window = 0}).find("window is 0; it must be at least 1"), std::string::npos);
    EXPECT_NE(message({.segment = 0}).find("segment"), std::string::npos);
    EXPECT_NE(message({.short_reads = 1.5}).find("short_reads"), std::string::npos);
    EXPECT_NE(message({.resets = -0.1}).find("resets"), std::string::npos);
}

TEST(LinkOptions, AreDrawnFromASeedAndLoseNothing) {
    bool differ = false;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const link_options drawn = link_options::drawn_from(seed);
        const link_options again = link_options::drawn_from(seed);
        EXPECT_EQ(drawn.latency, again.latency);
        EXPECT_EQ(drawn.window, again.window);
        EXPECT_EQ(drawn.resets + drawn.refusals + drawn.silences, 0.0);
        EXPECT_NO_THROW(simulated_network({.link = drawn}));
        differ |= drawn.latency != link_options::drawn_from(seed + 1).latency;
    }
    EXPECT_TRUE(differ);
}

}  // namespace
