// SPDX-License-Identifier: MIT
// How ws::serve ends: with the handler's result, and with a close code that tells the peer.

#include "ws/support.hpp"

#include <weir/ws/serve.hpp>

#include <stdexcept>

namespace {

using namespace ws_test;
using ws::close_code;

// The code that the client sees.
task<close_code> code_at_client(simulated_stream stream) {
    close_code seen = close_code::abnormal;
    auto listen = [&](ws::connection& peer) -> task<> {
        co_await peer.wait_closed();
        seen = peer.code().value_or(close_code::abnormal);
    };
    co_await be_client(std::move(stream), listen);
    co_return seen;
}

WEIR_TEST(Serve, ClosesNormallyWhenTheHandlerReturns) {
    simulated_network net;
    auto ends = net.pair();
    auto client = weir::spawn(code_at_client(std::move(ends.second)));
    auto handler = [](ws::connection& peer) -> task<> {
        EXPECT_TRUE(peer.is_open());
        EXPECT_FALSE(peer.code().has_value());
        EXPECT_EQ(peer.protocol(), "");
        co_return;
    };
    co_await ws::serve(io::any_stream(std::move(ends.first)), handler);
    const close_code code = co_await client;
    EXPECT_EQ(code, close_code::normal);
}

WEIR_TEST(Serve, ThrowsWhatTheHandlerThrows) {
    simulated_network net;
    auto ends = net.pair();
    auto client = weir::spawn(code_at_client(std::move(ends.second)));
    auto handler = [](ws::connection&) -> task<> {
        throw std::runtime_error("no price today");
        co_return;
    };
    auto serving = [&]() -> task<> {
        return ws::serve(io::any_stream(std::move(ends.first)), handler);
    };
    WEIR_EXPECT_THROW_WITH(serving(), std::runtime_error, "no price today");
    const close_code code = co_await client;
    EXPECT_EQ(code, close_code::internal_error);
}

WEIR_TEST(Serve, APeerThatGoesIsNoError) {
    simulated_network net;
    auto ends = net.pair();
    ends.second.close();
    auto handler = [](ws::connection& peer) -> task<> {
        std::optional<ws::message> next = co_await peer.receive();
        EXPECT_FALSE(next.has_value());
    };
    co_await ws::serve(io::any_stream(std::move(ends.first)), handler);
}

TEST(Serve, ChecksItsOptions) {
    auto handler = [](ws::connection&) -> task<> { co_return; };
    EXPECT_THROW(static_cast<void>(ws::serve(io::any_stream(), handler, {.max_message = 0})),
                 weir::invalid_argument);
}

}  // namespace
