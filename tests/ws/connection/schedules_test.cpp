// SPDX-License-Identifier: MIT
// Random conversations over random networks, and stops at every point.

#include "support/schedules.hpp"

#include "ws/support.hpp"

#include <algorithm>
#include <deque>
#include <memory>

namespace {

using namespace ws_test;
using schedules::dice;
using ws::close_code;
using ws::overflow;

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
WEIR_TEST(ConnectionSchedules, PeersReceiveWhatWasSent) {
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
// tasks that are not stopped end.
TEST(ConnectionSchedules, StopsAnywhere) {
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
