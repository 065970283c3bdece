// SPDX-License-Identifier: MIT
// The inbox between the reader and the handler of a connection.

#include "ws/connection/inbox.hpp"

#include "ws/support.hpp"

namespace {

using namespace ws_test;
using ws::detail::inbox;

ws::message text(std::string content) {
    return ws::message(std::move(content), true);
}

TEST(Inbox, IsFullByMessagesOrBytes) {
    inbox few({.max_message = 100, .inbox_messages = 2});
    few.push(text("a"));
    EXPECT_FALSE(few.is_full());
    few.push(text("b"));
    EXPECT_TRUE(few.is_full());
    EXPECT_EQ(few.try_take()->text(), "a");
    EXPECT_FALSE(few.is_full());
    EXPECT_EQ(few.received(), 2u);

    inbox small({.max_message = 4, .inbox_messages = 100});
    small.push(text("abcd"));
    EXPECT_TRUE(small.is_full());
    EXPECT_TRUE(small.try_take().has_value());
    EXPECT_TRUE(small.empty());
    EXPECT_FALSE(small.try_take().has_value());
}

WEIR_TEST(Inbox, ATakenMessageWakesTheReader) {
    inbox messages({.inbox_messages = 1});
    messages.push(text("a"));
    bool has_room = false;
    auto reader = [&]() -> task<> {
        co_await messages.wait_for_room();
        messages.continue_reading();
        has_room = true;
    };
    auto reading = weir::spawn(reader());
    co_await weir::yield();
    EXPECT_TRUE(messages.is_reader_waiting());
    EXPECT_TRUE(messages.try_take().has_value());
    co_await reading;
    EXPECT_TRUE(has_room);
    EXPECT_FALSE(messages.is_reader_waiting());
}

WEIR_TEST(Inbox, KnowsWhetherTheHandlerIsBusy) {
    inbox messages({});
    EXPECT_FALSE(messages.is_handler_busy());  // it has never taken a message
    EXPECT_FALSE(messages.try_take().has_value());
    EXPECT_TRUE(messages.is_handler_busy());
    auto handler = [&]() -> task<> {
        const inbox::waiting waiting(messages);
        co_await messages.wait_for_arrival();
    };
    auto handling = weir::spawn(handler());
    co_await weir::yield();
    EXPECT_FALSE(messages.is_handler_busy());
    messages.push(text("a"));
    co_await handling;
    EXPECT_TRUE(messages.is_handler_busy());
}

}  // namespace
