// SPDX-License-Identifier: MIT
// copy_both over simulated connections: half-closed ones, idle ones, broken ones.

#include "support/schedules.hpp"
#include "testing/io/stream_support.hpp"

#include <weir/io/copy_both.hpp>
#include <weir/testing/faults.hpp>

#include <array>
#include <string>
#include <utility>

namespace {

using namespace stream_tests;

// A client and a server with a proxy between them.
struct proxied {
    explicit proxied(simulated_network& net) : proxied(net.pair(), net.pair()) {}
    proxied(std::pair<simulated_stream, simulated_stream> front,
            std::pair<simulated_stream, simulated_stream> back)
        : client(std::move(front.first)),
          left(std::move(front.second)),
          right(std::move(back.first)),
          server(std::move(back.second)) {}

    simulated_stream client;
    simulated_stream left;
    simulated_stream right;
    simulated_stream server;
};

task<io::copied_both> run_proxy(proxied& all, io::copy_both_options options) {
    io::copied_both moved = co_await io::copy_both(all.left, all.right, options);
    co_return moved;
}

// The client sends its request and ends its direction; the server answers after that.
TEST(CopyBoth, AHalfClosedConnectionWorksThroughIt) {
    schedules::expect_under(runs(50), []() -> task<> {
        simulated_network net({.link = rough()});
        proxied all(net);
        dice random(weir::testing::current_seed() + 1);
        const std::string request = pattern(random.below(50'000));
        const std::string answer = pattern(random.below(50'000));
        const io::copy_both_options options{.chunk = 1 + random.below(5000)};
        auto serve = [&]() -> task<> {
            const std::string got = co_await io::read_all(all.server, 100'000);
            EXPECT_TRUE(got == request);
            co_await all.server.write(answer);
            co_await all.server.close_write();
        };
        auto ask = [&]() -> task<> {
            co_await all.client.write(request);
            co_await all.client.close_write();
            const std::string got = co_await io::read_all(all.client, 100'000);
            EXPECT_TRUE(got == answer);
        };
        auto [moved, served, asked] =
            co_await weir::gather(run_proxy(all, options), serve(), ask());
        EXPECT_EQ(moved.left_to_right, request.size());
        EXPECT_EQ(moved.right_to_left, answer.size());
        EXPECT_FALSE(moved.is_idle);
    });
}

WEIR_TEST(CopyBoth, EndsWhenNothingMoves) {
    simulated_network net;
    proxied all(net);
    const io::copy_both_options options{.idle_timeout = 10s};
    const auto proxy = weir::spawn(run_proxy(all, options));
    const auto begin = weir::now();
    std::array<char, 1> byte{};
    for (int i = 0; i < 5; ++i) {  // one direction is enough to keep it busy
        co_await weir::sleep(8s);
        co_await all.client.write("x");
        co_await io::read_exact(all.server, byte);
    }
    const io::copied_both moved = co_await proxy;
    EXPECT_TRUE(moved.is_idle);
    EXPECT_EQ(moved.left_to_right, 5u);
    EXPECT_NEAR(static_cast<double>((weir::now() - begin) / 1ms), 50'000, 100);
}

WEIR_TEST(CopyBoth, AnErrorOfOneSideStopsTheOther) {
    simulated_network net;
    proxied all(net);
    const auto proxy = weir::spawn(run_proxy(all, {}));
    co_await weir::sleep(1s);
    co_await all.client.write("unread");
    co_await weir::sleep(1s);
    all.server.close();  // with unread bytes: a reset
    const auto ended = co_await weir::settle(proxy);
    EXPECT_TRUE(ended.has_error());
    bool is_io_error = false;
    try {
        ended.value();
    } catch (const weir::io_error& error) {
        is_io_error = error.code() == std::errc::connection_reset;
    }
    EXPECT_TRUE(is_io_error);
}

WEIR_TEST(CopyBoth, AStopLeavesTheStreamsToTheCaller) {
    simulated_network net;
    proxied all(net);
    auto proxy = weir::spawn(run_proxy(all, {}));
    co_await weir::sleep(1s);
    proxy.cancel();
    co_await proxy.wait();
    EXPECT_TRUE(proxy.cancelled());
    co_await all.client.write("direct");
    std::array<char, 6> got{};
    co_await io::read_exact(all.left, got);
    EXPECT_EQ(std::string(got.begin(), got.end()), "direct");
}

WEIR_TEST(CopyBoth, RefusesInvalidOptions) {
    simulated_network net;
    proxied all(net);
    for (const io::copy_both_options& options :
         {io::copy_both_options{.idle_timeout = 0s}, io::copy_both_options{.chunk = 0}}) {
        const auto ended = co_await weir::settle(run_proxy(all, options));
        EXPECT_THROW(static_cast<void>(ended.value()), weir::invalid_argument);
    }
}

// Whatever fails on the way: the proxy ends, each side has a prefix of what was sent to it, and a
// proxy that ends without an error has moved all of it.
TEST(CopyBoth, EndsAtEveryFault) {
    const std::uint64_t tried = weir::testing::expect_no_fault_breaks(
        []() -> task<> {
            simulated_network net({.link = {.latency = 1ms}});
            proxied all(net);
            const std::string request = pattern(700);
            const std::string answer = pattern(900);
            std::string received;
            std::string returned;
            auto receive = [](simulated_stream& from, std::string& into) -> task<> {
                std::array<char, 300> part;
                for (;;) {
                    auto count = co_await from.read(part, io::as_result);
                    if (!count || *count == 0) {
                        co_return;
                    }
                    into.append(part.data(), *count);
                }
            };
            auto serve = [&]() -> task<> {
                co_await receive(all.server, received);
                (void)co_await all.server.write(answer, io::as_result);
                all.server.close();
            };
            auto ask = [&]() -> task<> {
                (void)co_await all.client.write(request, io::as_result);
                (void)co_await weir::settle(all.client.close_write());
                co_await receive(all.client, returned);
                all.client.close();
            };
            auto proxy = [&]() -> task<bool> {
                const auto moved =
                    co_await weir::settle(run_proxy(all, {.idle_timeout = 1min, .chunk = 256}));
                all.left.close();
                all.right.close();
                co_return moved.has_value() && !moved.value().is_idle;
            };
            auto serving = weir::spawn(serve());
            auto asking = weir::spawn(ask());
            auto proxying = weir::spawn(proxy());
            co_await serving.wait();
            all.server.close();
            co_await asking.wait();
            all.client.close();
            co_await proxying.wait();
            EXPECT_TRUE(request.starts_with(received));
            EXPECT_TRUE(answer.starts_with(returned));
            if (!weir::testing::injected_fault().has_value()) {
                EXPECT_TRUE(proxying.result());
                EXPECT_EQ(received.size() + returned.size(), 1600u);
            }
        },
        {.schedules = 10});
    EXPECT_GT(tried, 500u);
}

}  // namespace
