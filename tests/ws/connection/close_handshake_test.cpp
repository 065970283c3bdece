// SPDX-License-Identifier: MIT
// The first end of a connection counts, and deadlines bound the rest.

#include "ws/connection/close_handshake.hpp"

#include "ws/support.hpp"

#include <weir/time.hpp>

namespace {

using namespace ws_test;
using weir::now;
using ws::close_code;
using ws::detail::close_handshake;
using time = close_handshake::time;

WEIR_TEST(CloseHandshake, TheFirstEndCounts) {
    close_handshake closing(5s);
    EXPECT_FALSE(closing.end().has_value());
    closing.end_with({.code = close_code(4001), .reason = "first", .message = "the first"});
    closing.end_with({.code = close_code::normal, .is_regular = true});
    EXPECT_EQ(closing.end()->code, close_code(4001));
    EXPECT_FALSE(closing.end()->is_regular);
    co_await closing.wait_for_end();
    EXPECT_THROW(closing.end()->raise(), ws::closed);
}

TEST(CloseHandshake, AnEndThatWeBeganIsRegular) {
    close_handshake ours(5s);
    ours.set_closed_by_us();
    ours.end_with({.code = close_code(4001)});
    EXPECT_TRUE(ours.end()->is_regular);

    close_handshake violated(5s);
    violated.set_closed_by_us();
    violated.end_with({.code = close_code::protocol_error, .is_violation = true});
    EXPECT_FALSE(violated.end()->is_regular);
    EXPECT_THROW(violated.end()->raise(), ws::protocol_error);
}

WEIR_TEST(CloseHandshake, HasADeadlineForThePeer) {
    close_handshake closing(5s);
    EXPECT_EQ(closing.next_check(), time::max());
    closing.start();
    EXPECT_EQ(closing.next_check(), now() + 5s);
    co_await weir::sleep(2s);
    closing.limit();  // a deadline runs already
    EXPECT_EQ(closing.next_check(), now() + 3s);
    co_await weir::sleep(3s);
    EXPECT_TRUE(closing.is_overdue(now()));
    closing.forget_deadline();
    EXPECT_FALSE(closing.is_overdue(now()));
}

WEIR_TEST(CloseHandshake, HasADeadlineForTheHandler) {
    close_handshake closing(5s);
    closing.set_answer(ws::frame::text("answer"));
    closing.delay_answer();
    EXPECT_FALSE(closing.is_answer_due(now()));
    co_await weir::sleep(5s);
    EXPECT_TRUE(closing.is_answer_due(now()));
    EXPECT_TRUE(static_cast<bool>(closing.take_answer()));
    EXPECT_FALSE(static_cast<bool>(closing.take_answer()));
    closing.start();
    EXPECT_FALSE(closing.is_answer_due(now()));
}

}  // namespace
