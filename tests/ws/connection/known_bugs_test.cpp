// SPDX-License-Identifier: MIT
// Bugs that other WebSocket libraries have had. See docs/known-bugs.md.

#include "ws/protocol/receiver.hpp"
#include "ws/support.hpp"

namespace {

using namespace ws_test;
using ws::close_code;
using ws::detail::receiver;

task<> listen(ws::connection& peer) {
    for (;;) {
        const std::optional<ws::message> came = co_await peer.receive();
        if (!came) {
            co_return;
        }
    }
}

WEIR_TEST(KnownBugs, websocket_sharp_662_the_last_message_before_a_close_is_handled) {
    simulated_network net;
    auto [near, far] = net.pair();
    std::vector<std::string> handled;
    auto slow = [&](ws::connection& peer) -> task<> {
        for (;;) {
            const std::optional<ws::message> came = co_await peer.receive();
            if (!came) {
                co_return;
            }
            co_await weir::sleep(100ms);
            handled.emplace_back(came->text());
        }
    };
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), slow));
    auto client = [](ws::connection& peer) -> task<> {
        for (const char* each : {"one", "two", "last"}) {
            co_await peer.send(each);
        }
        co_await peer.close();
    };
    co_await be_client(std::move(near), client);
    co_await server;
    EXPECT_EQ(handled, (std::vector<std::string>{"one", "two", "last"}));
}

// The peer answers nothing, and sends something now and then so that no single read takes long.
WEIR_TEST(KnownBugs, aiohttp_1002_a_peer_that_goes_on_talking_does_not_hold_the_close_up) {
    simulated_network net;
    auto [near, far] = net.pair();
    auto talk = [](simulated_stream& peer) -> task<> {
        for (;;) {
            co_await peer.write(bytes_of(raw(1, "keep-alive")));
            co_await weir::sleep(1s);
        }
    };
    auto talking = weir::spawn(talk(near));
    const auto began = weir::now();
    auto handler = [&](ws::connection& peer) -> task<> {
        co_await peer.close();
        EXPECT_EQ(weir::now() - began, 5s);
    };
    co_await ws::serve(io::any_stream(std::move(far)), handler);
    EXPECT_EQ(weir::now() - began, 5s);
    talking.cancel();
    co_await talking.wait();
    if (talking.failed()) {
        EXPECT_TRUE(talking.error());
    }
}

// Messages that were not received yet precede the peer's answer.
WEIR_TEST(KnownBugs, deno_15665_unread_messages_do_not_hold_the_close_up) {
    simulated_network net;
    auto [near, far] = net.pair();
    const auto began = weir::now();
    auto handler = [&](ws::connection& peer) -> task<> {
        co_await weir::sleep(1s);
        co_await peer.close();
        EXPECT_EQ(weir::now() - began, 1s);
        EXPECT_EQ(peer.code(), close_code::normal);
    };
    auto server =
        weir::spawn(ws::serve(io::any_stream(std::move(far)), handler, {.inbox_messages = 2}));
    auto client = [](ws::connection& peer) -> task<> {
        for (int count = 0; count < 50; ++count) {
            co_await peer.send("unread");
        }
        co_await listen(peer);
    };
    co_await be_client(std::move(near), client);
    co_await server;
}

// A pong may be long in coming on a slow line that is full of messages, and the peer is alive.
WEIR_TEST(KnownBugs, websocket_node_229_long_transfers_over_slow_lines_outlive_their_pings) {
    simulated_network net({.link = {.latency = 10ms, .bandwidth = 5000, .window = 300'000}});
    auto [near, far] = net.pair();
    std::size_t received = 0;
    auto sender = [](ws::connection& peer) -> task<> {
        for (int count = 0; count < 20; ++count) {
            co_await peer.send_binary(std::string(100'000, 'x'));
        }
        co_await listen(peer);
    };
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), sender));
    auto client = [&](ws::connection& peer) -> task<> {
        while (received < 20) {
            const std::optional<ws::message> came = co_await peer.receive();
            WEIR_ASSERT_TRUE(came);
            ++received;
        }
    };
    co_await be_client(std::move(near), client, {.ping_interval = 0s});
    co_await server;
    EXPECT_EQ(received, 20u);
}

// Pings are answered, and pongs seen, though the handler is busy and its queue full.
WEIR_TEST(KnownBugs, websockets_1012_a_full_queue_is_no_dead_peer) {
    simulated_network net;
    auto [near, far] = net.pair();
    int taken = 0;
    auto handler = [&](ws::connection& peer) -> task<> {
        for (; taken < 30; ++taken) {
            const std::optional<ws::message> came = co_await peer.receive();
            WEIR_ASSERT_TRUE(came);
            co_await weir::sleep(50s);
        }
    };
    auto server =
        weir::spawn(ws::serve(io::any_stream(std::move(far)), handler, {.inbox_messages = 1}));
    auto client = [](ws::connection& peer) -> task<> {
        for (int count = 0; count < 30; ++count) {
            co_await peer.send("work");
        }
        co_await listen(peer);
    };
    co_await be_client(std::move(near), client, {.ping_interval = 0s});
    co_await server;
    EXPECT_EQ(taken, 30);
}

// A peer that floods pings and reads nothing, behind a write that is stuck.
WEIR_TEST(KnownBugs, okhttp_pongs_do_not_pile_up_behind_a_stuck_write) {
    simulated_network net;
    auto [near, far] = net.pair();
    auto handler = [&](ws::connection& peer) -> task<> {
        co_await peer.send_binary(std::string(1'000'000, 'x'));
        co_await weir::sleep(5s);
        EXPECT_LT(peer.stats().queued_bytes, 1'001'000u);
        EXPECT_LE(peer.stats().queued_messages, 2u);
    };
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), handler));
    std::string flood;
    for (int count = 0; count < 1000; ++count) {
        flood += bytes_of(raw(9, std::string(125, 'p')));
    }
    for (int count = 0; count < 10; ++count) {
        co_await near.write(flood);
    }
    co_await weir::sleep(6s);
    near.close();
    co_await server;
}

// A send that is given up has sent nothing, or all of it: what comes after is whole.
WEIR_TEST(KnownBugs, websockets_278_a_cancelled_send_leaves_the_connection_whole) {
    simulated_network net({.link = {.bandwidth = 10'000, .window = 1000}});
    auto [near, far] = net.pair();
    int given_up = 0;
    auto handler = [&](ws::connection& peer) -> task<> {
        for (int count = 0; count < 40; ++count) {
            auto sending = peer.send(std::to_string(count) + std::string(3000, '.'));
            weir::cancel_scope limit(20ms + count * 7ms);
            const bool sent = co_await limit.run(std::move(sending));
            given_up += sent ? 0 : 1;
        }
        co_await peer.send("end");
        co_await listen(peer);
    };
    auto server =
        weir::spawn(ws::serve(io::any_stream(std::move(far)), handler, {.outbox_bytes = 4000}));
    int last = -1;
    auto client = [&](ws::connection& peer) -> task<> {
        for (;;) {
            const std::optional<ws::message> came = co_await peer.receive();
            WEIR_ASSERT_TRUE(came);
            if (came->text() == "end") {
                co_return;
            }
            const int number = std::stoi(std::string(came->text()));
            EXPECT_GT(number, last);
            EXPECT_EQ(came->text(), std::to_string(number) + std::string(3000, '.'));
            last = number;
        }
    };
    co_await be_client(std::move(near), client);
    co_await server;
    EXPECT_GT(given_up, 0);
    EXPECT_GE(last, 0);
}

TEST(KnownBugs, gorilla_537_control_frames_and_long_lengths_do_not_get_round_the_limit) {
    for (const std::uint64_t announced :
         {std::uint64_t{41}, std::uint64_t{1} << 31, std::uint64_t{1} << 32,
          (std::uint64_t{1} << 63) - 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        receiver in(ws::role::server, {.max_message = 100});
        raw rest(0, "x");
        rest.announced = announced;
        const std::string bytes = bytes_of(raw(1, std::string(60, 'a'), false)) +
                                  bytes_of(raw(10, "pong")) + bytes_of(rest);
        in.feed(bytes);
        EXPECT_EQ(in.next().what, receiver::kind::pong);
        const receiver::event refused = in.next();
        EXPECT_EQ(refused.what, receiver::kind::violation);
        EXPECT_EQ(refused.code,
                  announced >> 63 == 0 ? close_code::too_big : close_code::protocol_error);
    }
}

TEST(KnownBugs, corefx_29834_a_buffer_that_ends_within_a_character_is_no_error) {
    const std::string content = "\xC3\xA6\xC3\xB8\xC3\xA5\xC3\xA6 \xE2\x82\xAC \xF0\x9F\x98\x80";
    const std::string bytes = bytes_of(raw(1, content));
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        receiver in(ws::role::server, {});
        in.feed(std::string_view(bytes).substr(0, cut));
        EXPECT_EQ(in.next().what, receiver::kind::nothing);
        in.feed(std::string_view(bytes).substr(cut));
        EXPECT_EQ(in.next().what, receiver::kind::message);
        EXPECT_EQ(in.take_message().text(), content);
    }
}

}  // namespace
