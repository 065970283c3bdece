// SPDX-License-Identifier: MIT
// The outbox and its policies; random talks over random networks; and stops at every point.

#include "support/schedules.hpp"

#include "support.hpp"

#include <algorithm>
#include <deque>
#include <memory>

namespace {

using namespace ws_test;
using schedules::dice;
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

WEIR_TEST(WsOutbox, DropsTheOldest) {
    stuck at;
    auto handler = [&](ws::connection& peer) -> task<> {
        for (int number = 0; number < 100; ++number) {
            const bool is_full = peer.room().messages == 0 || peer.room().bytes < 102;
            const ws::posted how = peer.post(ws::frame::text(numbered(number)));
            EXPECT_EQ(how, is_full ? ws::posted::queued_dropping : ws::posted::queued);
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

WEIR_TEST(WsOutbox, ClosesThoseThatDoNotKeepUp) {
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
        EXPECT_EQ(weir::now() - began, 5s);  // it could not even be told
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

// Those who wait are served in the order of asking, whatever the sizes; try_send does not jump the
// queue.
WEIR_TEST(WsOutbox, SendersWaitInLine) {
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
WEIR_TEST(WsOutbox, WritesMuchAtOnce) {
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

TEST(WsFrame, IsSharedAndCounted) {
    const ws::frame one = ws::frame::text("abc");
    ws::frame two = one;
    EXPECT_EQ(two.wire().data(), one.wire().data());
    EXPECT_EQ(one.wire().text(),
              "\x81\x03"
              "abc");
    EXPECT_TRUE(one.is_text());
    two = ws::frame::binary(std::string(70'000, 'x'));
    EXPECT_EQ(two.size(), 70'010u);
    EXPECT_EQ(two.content().size(), 70'000u);
    EXPECT_FALSE(two.is_text());
    EXPECT_THROW(ws::frame::text("\xC3"), weir::invalid_argument);
    EXPECT_FALSE(ws::frame());
    EXPECT_EQ(ws::frame().size(), 0u);
    const ws::frame masked =
        ws::frame::make(ws::detail::opcode::text, "abc", ws::frame::masked::yes);
    EXPECT_EQ(masked.size(), 9u);
}

TEST(WsOptions, AreChecked) {
    const auto refused = [](const ws::connection_options& options, const char* name) {
        try {
            ws::check(options);
            ADD_FAILURE() << name;
        } catch (const weir::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
        }
    };
    refused({.max_message = 0}, "max_message is 0");
    refused({.max_frames = 0}, "max_frames is 0");
    refused({.inbox_messages = 0}, "inbox_messages is 0");
    refused({.outbox_bytes = 0}, "outbox_bytes is 0");
    refused({.outbox_messages = 0}, "outbox_messages is 0");
    refused({.ping_interval = -1s}, "ping_interval is -1 s");
    refused({.ping_timeout = 0s}, "ping_timeout is 0 s");
    refused({.write_timeout = 0s}, "write_timeout is 0 s");
    refused({.close_timeout = -2s}, "close_timeout is -2 s");
}

task<bool> listen(ws::connection& peer) {
    const std::optional<ws::message> came = co_await peer.receive();
    co_return came.has_value();
}
task<bool> ask(ws::connection& peer) {
    co_await peer.ping();
    co_return true;
}

std::string random_text(dice& random) {
    std::string text;
    for (int left = random.below(random.one_in(20) ? 30'000 : 300); left > 0; --left) {
        text +=
            random.one_in(10) ? "\xE2\x82\xAC" : std::string(1, static_cast<char>('a' + left % 26));
    }
    return text;
}

// Both sides send at random and check what comes, until one of them closes; then each has what the
// other had sent before.
WEIR_TEST(WsProperty, TalksAreWhatTheyWere) {
    dice random;
    simulated_network net(
        {.link = weir::testing::link_options::drawn_from(weir::testing::current_seed())});
    auto [near, far] = net.pair();
    std::deque<std::string> to_server;
    std::deque<std::string> to_client;
    auto talk = [&](ws::connection& peer, std::deque<std::string>& out, std::deque<std::string>& in,
                    int count) -> task<> {
        auto receive = [&]() -> task<> {
            for (;;) {
                const std::optional<ws::message> came = co_await peer.receive();
                if (!came) {
                    co_return;
                }
                WEIR_ASSERT_FALSE(in.empty());
                EXPECT_EQ((came->is_text() ? "t" : "b") + std::string(came->text()), in.front());
                in.pop_front();
                co_await schedules::pause(random, 30);
            }
        };
        auto both = [&](weir::task_group& group) -> task<> {
            group.spawn(receive);
            for (int left = count; left > 0; --left) {
                std::string text = random_text(random);
                const bool is_text = !random.one_in(3);
                out.push_back((is_text ? "t" : "b") + text);
                if (is_text) {
                    co_await peer.send(text);
                } else {
                    co_await peer.send_binary(text);
                }
                co_await schedules::pause(random, 30);
                if (random.one_in(10)) {
                    co_await peer.ping();
                }
            }
            if (count > 0) {
                co_await weir::sleep(200h);  // the slowest network is done by then
                co_await peer.close();
            }
        };
        co_await weir::with_group(both);
    };
    auto serving = [&](ws::connection& peer) -> task<> {
        co_await talk(peer, to_client, to_server, 20);
    };
    auto asking = [&](ws::connection& peer) -> task<> {
        co_await talk(peer, to_server, to_client, 20);
    };
    const ws::connection_options options{.inbox_messages = 3,
                                         .outbox_bytes = 5000,
                                         .ping_interval = 0s,
                                         .write_timeout = 1000h,
                                         .close_timeout = 1000h};
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), serving, options));
    co_await be_client(std::move(near), asking, options);
    co_await server;
    EXPECT_TRUE(to_server.empty());
    EXPECT_TRUE(to_client.empty());
    EXPECT_EQ(net.stats().open, 0u);
}

// Anything may be stopped at any point, and the network may break: nothing is left behind, and
// whoever is not stopped comes to an end.
TEST(WsProperty, StopsAnywhere) {
    auto body = []() -> task<> {
        dice random;
        weir::testing::link_options link =
            weir::testing::link_options::drawn_from(weir::testing::current_seed());
        if (random.one_in(3)) {
            link.reset_after = static_cast<std::uint64_t>(random.below(5000) + 1);
        }
        simulated_network net({.link = link});
        auto [near, far] = net.pair();
        const ws::frame shared = ws::frame::text("to all");
        auto act = [&](ws::connection& peer) -> task<> {
            for (int left = random.below(15); left > 0; --left) {
                switch (random.below(7)) {
                    case 0:
                        co_await peer.send(random_text(random));
                        break;
                    case 1:
                        peer.post(shared);
                        break;
                    case 2:
                        co_await weir::timeout_or(100ms, listen(peer), false);
                        break;
                    case 3:
                        co_await weir::timeout_or(50ms, ask(peer), false);
                        break;
                    case 4:
                        if (random.one_in(5)) {
                            co_await peer.close(close_code::normal, "done");
                        }
                        break;
                    case 5:
                        if (random.one_in(5)) {
                            throw std::runtime_error("handler");
                        }
                        break;
                    default:
                        co_await schedules::pause(random, 100);
                }
            }
            co_await weir::timeout_or(1s, listen(peer), false);
        };
        const ws::connection_options options{.inbox_messages = 2,
                                             .outbox_bytes = 2000,
                                             .when_full = overflow(random.below(3)),
                                             .ping_interval = 300ms,
                                             .ping_timeout = 10s};
        auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), act, options));
        auto client = weir::spawn(be_client(std::move(near), act, options));
        co_await schedules::pause(random, 1000);
        if (random.one_in(2)) {
            server.cancel();
            co_await schedules::pause(random, 50);
        }
        if (random.one_in(2)) {
            client.cancel();
            co_await schedules::pause(random, 50);
        }
        if (random.one_in(4)) {
            client.cancel();
            server.cancel();
        }
        const auto limit = weir::now() + 10min;
        for (const auto& each : {server, client}) {
            co_await weir::timeout_at(limit, each.wait());
            if (each.failed()) {
                const auto error = each.error();
                try {
                    std::rethrow_exception(error);
                } catch (const ws::closed&) {
                    // the other side, or the network
                } catch (const std::runtime_error& thrown) {
                    EXPECT_STREQ(thrown.what(), "handler");
                }
            }
        }
        EXPECT_EQ(net.stats().open, 0u);
    };
    schedules::expect_under(400, body);
}

}  // namespace
