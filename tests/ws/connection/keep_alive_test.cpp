// SPDX-License-Identifier: MIT
// When a connection pings its peer, and when it gives the peer up.

#include "ws/connection/keep_alive.hpp"

#include "ws/support.hpp"

#include <weir/time.hpp>

namespace {

using namespace ws_test;
using weir::now;
using ws::detail::keep_alive;

constexpr ws::connection_options limits{.ping_interval = 10s, .ping_timeout = 4s};

WEIR_TEST(KeepAlive, PingsAtItsInterval) {
    keep_alive life(limits);
    EXPECT_EQ(life.check(now(), false).next_check, now() + 10s);
    co_await weir::sleep(10s);
    const keep_alive::verdict due = life.check(now(), false);
    EXPECT_TRUE(due.is_ping_due);
    EXPECT_FALSE(due.is_lost);
    EXPECT_EQ(due.next_check, now() + 4s);
}

WEIR_TEST(KeepAlive, GivesASilentPeerUp) {
    keep_alive life(limits);
    co_await weir::sleep(10s);
    EXPECT_TRUE(life.check(now(), false).is_ping_due);
    co_await weir::sleep(4s);
    EXPECT_TRUE(life.check(now(), false).is_lost);
}

WEIR_TEST(KeepAlive, AnyLifeSignIsAnAnswer) {
    keep_alive life(limits);
    co_await weir::sleep(10s);
    EXPECT_TRUE(life.check(now(), false).is_ping_due);
    life.note_life_sign();
    co_await weir::sleep(4s);
    const keep_alive::verdict checked = life.check(now(), false);
    EXPECT_FALSE(checked.is_lost);
    EXPECT_EQ(checked.next_check, now() + 6s);
}

WEIR_TEST(KeepAlive, WaitsWhileNoPongCanCome) {
    keep_alive life(limits);
    co_await weir::sleep(10s);
    EXPECT_TRUE(life.check(now(), false).is_ping_due);
    co_await weir::sleep(4s);
    EXPECT_FALSE(life.check(now(), true).is_lost);
    co_await weir::sleep(4s);
    EXPECT_TRUE(life.check(now(), false).is_lost);
}

WEIR_TEST(KeepAlive, MeasuresTheLastRoundTrip) {
    keep_alive life(limits);
    const keep_alive::payload first = life.start_ping();
    const std::string_view content(first.data(), first.size());
    EXPECT_FALSE(life.is_answered(life.last_ping()));
    co_await weir::sleep(30ms);
    life.take_pong("unsolicited");
    life.take_pong(std::string(8, '\xFF'));  // of a ping that was never sent
    EXPECT_FALSE(life.is_answered(1));
    life.take_pong(content);
    EXPECT_TRUE(life.is_answered(1));
    EXPECT_EQ(life.round_trip(), 30ms);
    co_await weir::sleep(10ms);
    life.take_pong(content);
    EXPECT_EQ(life.round_trip(), 30ms);
}

WEIR_TEST(KeepAlive, DoesNothingWithoutAnInterval) {
    keep_alive life({.ping_interval = 0s});
    co_await weir::sleep(1h);
    const keep_alive::verdict checked = life.check(now(), false);
    EXPECT_FALSE(checked.is_ping_due);
    EXPECT_FALSE(checked.is_lost);
    EXPECT_EQ(checked.next_check, keep_alive::time::max());
}

}  // namespace
