// SPDX-License-Identifier: MIT
// How topics come and go, and what is kept of their messages.

#include "ws/hub/hub_core.hpp"

#include <weir/io/error.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace std::chrono_literals;
namespace ws = weir::ws;
using ws::detail::message_store;
using ws::detail::topic;
using ws::detail::topic_table;

// A table and its store, without the rest of a hub.
struct topics {
    explicit topics(const ws::hub_options& options) : store(options), table(options, store) {}
    topic& make(std::string_view name) { return table.find_or_make(name, hub, stats); }
    void keep(topic& to, std::string_view text) {
        to.take_number();
        store.add(to.log, store.make(ws::frame::text(text)), to, weir::clock::time_point());
    }

    ws::detail::hub_core hub{ws::hub_options()};
    ws::hub_stats stats;
    message_store store;
    topic_table table;
};

TEST(TopicTable, DropsATopicThatIsNotUsed) {
    topics all({});
    topic& added = all.make("a");
    all.table.pin(added);
    EXPECT_EQ(all.table.find("a"), &added);
    all.table.unpin(added);
    EXPECT_EQ(all.table.find("a"), nullptr);
    EXPECT_EQ(all.table.size(), 0u);
}

TEST(TopicTable, KeepsATopicWithMessagesUntilThereAreTooMany) {
    topics all({.max_topics = 2});
    for (const char* const name : {"a", "b"}) {
        topic& added = all.make(name);
        all.keep(added, name);
        all.table.drop_if_unused(added);
    }
    EXPECT_EQ(all.table.size(), 2u);
    topic& used = *all.table.find("a");
    all.table.pin(used);
    all.make("c");  // in place of b, which is idle
    EXPECT_EQ(all.table.find("b"), nullptr);
    EXPECT_EQ(all.table.find("a"), &used);
    EXPECT_EQ(all.store.count(), 1u);
    EXPECT_THROW(all.make("d"), weir::limit_exceeded);
    EXPECT_THROW(all.make(std::string(257, 'x')), weir::limit_exceeded);
}

TEST(TopicTable, EachLifeOfATopicHasAnEpoch) {
    topics all({});
    const ws::position next = all.table.next_position("a");
    EXPECT_EQ(next.number, 1u);
    topic& first = all.make("a");
    EXPECT_EQ(first.next(), next);
    all.table.drop_if_unused(first);
    EXPECT_NE(all.make("a").next().epoch, next.epoch);
}

TEST(TopicTable, LogsStayWithinTheirLimits) {
    topics all({.keep_messages = 2, .keep_bytes = 1000, .keep_total_bytes = 1000, .keep_for = 10s});
    topic& added = all.make("a");
    for (const char* const text : {"1", "2", "3"}) {
        all.keep(added, text);
    }
    EXPECT_EQ(added.log.count, 2u);
    EXPECT_EQ(added.log.messages.front().message.content().text(), "2");
    EXPECT_EQ(all.store.over_limit(), nullptr);
    EXPECT_EQ(all.store.expired(weir::clock::time_point(9s)), nullptr);
    EXPECT_EQ(all.store.expired(weir::clock::time_point(10s)), &added);
    all.store.drop_expired(added.log, weir::clock::time_point(10s));
    EXPECT_EQ(added.log.count, 0u);
    EXPECT_EQ(all.store.bytes(), 0u);
}

}  // namespace
