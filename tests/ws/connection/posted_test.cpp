// SPDX-License-Identifier: MIT
// What becomes of posted messages, and the room for more.

#include "ws/support.hpp"

#include <weir/ws/posted.hpp>

#include <limits>

namespace {

using namespace ws_test;
using ws::posted;

TEST(Posted, RoomIsUnlimitedUnlessSaid) {
    const ws::outbox_room room;
    EXPECT_EQ(room.messages, std::numeric_limits<std::size_t>::max());
    EXPECT_EQ(room.bytes, std::numeric_limits<std::size_t>::max());
}

// The peer takes nothing: the outbox fills, and then the policy decides.
WEIR_TEST(Posted, SaysWhatBecameOfTheMessage) {
    simulated_network net;
    auto ends = net.pair();
    auto handler = [](ws::connection& peer) -> task<> {
        EXPECT_EQ(peer.room().messages, 2u);
        EXPECT_EQ(peer.post(ws::frame::text("a")), posted::queued);
        EXPECT_EQ(peer.room().messages, 1u);
        EXPECT_EQ(peer.post(ws::frame::text("b")), posted::queued);
        EXPECT_EQ(peer.room().messages, 0u);
        EXPECT_EQ(peer.post(ws::frame::text("c")), posted::queued_dropping);
        EXPECT_EQ(peer.post(ws::frame()), posted::refused);
        EXPECT_EQ(peer.stats().dropped, 1u);
        co_await peer.close();
        EXPECT_EQ(peer.post(ws::frame::text("d")), posted::refused);
        EXPECT_EQ(peer.room().messages, 0u);
    };
    std::string received;
    auto listen = [&](ws::connection& peer) -> task<> {
        for (;;) {
            std::optional<ws::message> next = co_await peer.receive();
            if (!next) {
                co_return;
            }
            received += next->text();
        }
    };
    auto client = weir::spawn(be_client(std::move(ends.second), listen));
    co_await ws::serve(io::any_stream(std::move(ends.first)), handler,
                       {.outbox_messages = 2, .when_full = ws::overflow::drop_oldest});
    co_await client;
    EXPECT_EQ(received, "bc");
}

}  // namespace
