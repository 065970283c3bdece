// SPDX-License-Identifier: MIT
// A connection between two of ours, over simulated networks.

#include "support.hpp"
#include "support/schedules.hpp"

namespace {

using namespace ws_test;

WEIR_TEST(Ws, EchoesTextAndBytes) {
    simulated_network net({.link = {.latency = 5ms}});
    auto [near, far] = net.pair();
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), echo));
    auto talk = [](ws::connection& peer) -> task<> {
        co_await peer.send("hello");
        co_await peer.send_binary(std::string("\xFF\0", 2));
        co_await peer.send("");
        std::optional<ws::message> first = co_await peer.receive();
        std::optional<ws::message> second = co_await peer.receive();
        std::optional<ws::message> third = co_await peer.receive();
        WEIR_ASSERT_TRUE(first && second && third);
        EXPECT_EQ(first->text(), "hello");
        EXPECT_TRUE(first->is_text());
        EXPECT_EQ(second->text(), std::string_view("\xFF\0", 2));
        EXPECT_TRUE(second->is_binary());
        EXPECT_EQ(third->size(), 0u);
        const auto trip = co_await peer.ping();
        EXPECT_EQ(trip, 10ms);
        EXPECT_EQ(peer.stats().sent, 3u);
        EXPECT_EQ(peer.stats().received, 3u);
    };
    co_await be_client(std::move(near), talk);
    co_await server;
    EXPECT_EQ(net.stats().open, 0u);
    EXPECT_EQ(net.stats().resets, 0u);
}

}  // namespace
