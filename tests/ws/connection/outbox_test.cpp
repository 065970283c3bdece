// SPDX-License-Identifier: MIT
// The outbox of a connection and its policies.

#include "ws/support.hpp"

#include <algorithm>
#include <deque>
#include <memory>

namespace {

using namespace ws_test;
using ws::close_code;
using ws::overflow;

// A peer that takes nothing: the window is small, and full after a few messages.
struct stuck {
    simulated_network net{{.link = {.window = 1000}}};
    std::pair<simulated_stream, simulated_stream> ends = net.pair();
};

std::string numbered(int number) {
    std::string text = std::to_string(number);
    return text + std::string(100 - text.size(), '.');
}

WEIR_TEST(Outbox, DropsTheOldest) {
    stuck at;
    auto handler = [&](ws::connection& peer) -> task<> {
        for (int number = 0; number < 100; ++number) {
            const bool is_full = peer.room().messages == 0 || peer.room().bytes < 102;
            const ws::posted result = peer.post(ws::frame::text(numbered(number)));
            EXPECT_EQ(result, is_full ? ws::posted::queued_dropping : ws::posted::queued);
            co_await weir::yield();
        }
        const ws::connection_stats now = peer.stats();
        EXPECT_GE(now.dropped, 70u);
        EXPECT_LE(now.queued_bytes, 10u * 102 + 64'000);
        EXPECT_EQ(now.sent + now.dropped + now.queued_messages, 100u);
        co_await weir::sleep(1s);
    };
    auto server =
        weir::spawn(ws::serve(io::any_stream(std::move(at.ends.second)), handler,
                              {.outbox_bytes = 10 * 102, .when_full = overflow::drop_oldest}));
    co_await weir::sleep(500ms);
    std::vector<seen> came;
    auto read = [&]() -> task<> {
        const std::string bytes = co_await io::read_all(at.ends.first, 1 << 20);
        came = frames_in(bytes);
    };
    auto reading = weir::spawn(read);
    co_await weir::sleep(3s);
    co_await at.ends.first.write(bytes_of(raw(8)));
    co_await reading;
    co_await server;
    // In order, and the newest are among them.
    WEIR_ASSERT_GT(came.size(), 10u);
    EXPECT_LT(came.size(), 35u);
    EXPECT_EQ(came.back().kind, 8u);
    EXPECT_EQ(came[came.size() - 2].content, numbered(99));
    EXPECT_TRUE(std::is_sorted(came.begin(), came.end() - 1, [](const seen& a, const seen& b) {
        return std::stoi(a.content) < std::stoi(b.content);
    }));
}

WEIR_TEST(Outbox, ClosesPeersThatDoNotKeepUp) {
    for (const overflow policy : {overflow::close, overflow::wait}) {
        stuck at;
        const auto began = weir::now();
        auto handler = [&](ws::connection& peer) -> task<> {
            int number = 0;
            while (peer.post(ws::frame::text(numbered(number))) == ws::posted::queued) {
                ++number;
                co_await weir::yield();
            }
            EXPECT_LT(number, 40);
            EXPECT_EQ(peer.code(), close_code::policy_violation);
            EXPECT_FALSE(peer.is_open());
            WEIR_EXPECT_THROW_WITH(peer.send("x"), ws::closed, "too slow");
            WEIR_EXPECT_THROW_WITH(peer.receive(), ws::closed, "too slow");
        };
        co_await ws::serve(io::any_stream(std::move(at.ends.second)), handler,
                           {.outbox_messages = 10, .when_full = policy});
        EXPECT_EQ(weir::now() - began, 5s);  // not even a close frame could be sent
    }
    // send() does the same.
    stuck at;
    auto handler = [&](ws::connection& peer) -> task<> {
        for (int number = 0; number < 100; ++number) {
            co_await peer.send(numbered(number));
            co_await weir::yield();
        }
    };
    auto failing = [&](ws::connection& peer) -> task<> {
        WEIR_EXPECT_THROW_WITH(handler(peer), ws::closed, "too slow");
    };
    co_await ws::serve(io::any_stream(std::move(at.ends.second)), failing,
                       {.outbox_messages = 10, .when_full = overflow::close});
}

// Waiting senders are served in order, for all sizes; try_send does not jump the queue.
//
WEIR_TEST(Outbox, SendersWaitInLine) {
    stuck at;
    std::vector<int> order;
    auto handler = [&](ws::connection& peer) -> task<> {
        auto one = [&](int number) -> task<> {
            const std::size_t size = number % 3 == 0 ? 900 : 100;
            co_await peer.send(std::to_string(number) + " " + std::string(size, '.'));
            order.push_back(number);
        };
        auto many = [&](weir::task_group& group) -> task<> {
            for (int number = 0; number < 30; ++number) {
                group.spawn(one, number);
                co_await weir::testing::settle_all();
            }
            EXPECT_FALSE(peer.try_send("now"));
            EXPECT_LT(order.size(), 15u);
        };
        co_await weir::with_group(many);
        co_await peer.close();
    };
    auto server = weir::spawn(
        ws::serve(io::any_stream(std::move(at.ends.second)), handler, {.outbox_bytes = 1000}));
    co_await weir::sleep(1s);
    std::string bytes;
    std::array<char, 500> buffer;
    while (frames_in(bytes).size() < 31) {
        const std::size_t count = co_await at.ends.first.read(buffer);
        bytes.append(buffer.data(), count);
        co_await weir::sleep(1ms);
    }
    co_await at.ends.first.write(bytes_of(raw(8, close_content(1000))));
    at.ends.first.close();
    co_await server;
    const std::vector<seen> came = frames_in(bytes);
    for (int number = 0; number < 30; ++number) {
        EXPECT_EQ(std::stoi(came[static_cast<std::size_t>(number)].content), number);
        EXPECT_EQ(order[static_cast<std::size_t>(number)], number);
    }
}

// All that waits goes in few writes, from shared memory; a message larger than the outbox passes
// alone.
WEIR_TEST(Outbox, WritesManyMessagesAtOnce) {
    simulated_network net;
    auto [near, far] = net.pair();
    auto handler = [&](ws::connection& peer) -> task<> {
        const ws::frame shared = ws::frame::text(numbered(7));
        co_await peer.send_binary(std::string(200'000, 'x'));
        while (peer.stats().queued_bytes > 200'000) {
            co_await weir::yield();  // until the writer has taken it
        }
        for (int number = 0; number < 500; ++number) {
            WEIR_ASSERT_EQ(peer.post(shared), ws::posted::queued);
        }
        EXPECT_EQ(peer.stats().queued_messages, 501u);
        co_await peer.close();
        EXPECT_EQ(peer.stats().sent, 501u);
        EXPECT_LE(peer.stats().writes, 10u);
        EXPECT_EQ(peer.stats().queued_bytes, 0u);
    };
    auto server =
        weir::spawn(ws::serve(io::any_stream(std::move(far)), handler, {.outbox_bytes = 100'000}));
    int count = 0;
    auto client = [&](ws::connection& peer) -> task<> {
        for (;;) {
            const std::optional<ws::message> came = co_await peer.receive();
            if (!came) {
                co_return;
            }
            EXPECT_EQ(came->size(), count == 0 ? 200'000u : 100u);
            ++count;
        }
    };
    co_await be_client(std::move(near), client);
    co_await server;
    EXPECT_EQ(count, 501);
}

}  // namespace
