// SPDX-License-Identifier: MIT
// The hub on its own: members that are no connections, in simulated time.
#include "recording_member.hpp"

#include <weir/io/error.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>
#include <weir/ws/hub.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace ws = weir::ws;

namespace {

using hub_test::ear;

// One that always loses something.
struct deaf {
    ws::posted post(const ws::frame&) noexcept { return ws::posted::queued_dropping; }
};

auto numbered(std::string word) {
    return [word](const ws::position& at) { return word + std::to_string(at.number); };
}

}  // namespace

// ---- the contract

WEIR_TEST(Hub, PublishesToTheMembersOfATopic) {
    ws::hub hub;
    ear first;
    ear second;
    auto one = hub.join(first, "a");
    auto two = hub.join(second, "a");
    auto three = hub.join(second, "b");
    EXPECT_EQ(hub.publish("a", "x").number, 1u);
    EXPECT_EQ(hub.publish("b", numbered("y")).number, 1u);
    EXPECT_EQ(hub.publish("a", numbered("z")).number, 2u);
    EXPECT_EQ(hub.publish("c", "nobody").number, 1u);
    EXPECT_EQ(first.all(), "x z2");
    EXPECT_EQ(second.all(), "x y1 z2");
    EXPECT_EQ(first.frames.size(), 2u);
    for (const void* each : first.frames) {
        EXPECT_TRUE(second.frames.contains(each)) << "the frame is not shared";
    }
    EXPECT_EQ(hub.members("a"), 2u);
    one.leave();
    one.leave();
    EXPECT_FALSE(one.is_member());
    hub.publish("a", "w");
    EXPECT_EQ(first.all(), "x z2");
    EXPECT_EQ(second.heard.back(), "w");

    const ws::hub_stats stats = hub.stats();
    EXPECT_EQ(stats.topics, 3u);
    EXPECT_EQ(stats.members, 2u);
    EXPECT_EQ(stats.published, 5u);
    EXPECT_EQ(stats.delivered, 6u);
    EXPECT_EQ(stats.kept_messages, 5u);
    EXPECT_EQ(hub.at("a").number, 3u);
    EXPECT_EQ(hub.at("nowhere"), ws::position());
    co_return;
}

WEIR_TEST(Hub, MembershipsMove) {
    ws::hub hub;
    ear first;
    ear second;
    ear third;
    std::vector<ws::membership> members;
    members.push_back(hub.join(first, "a"));
    members.push_back(hub.join(second, "a"));
    members.push_back(hub.join(third, "a"));  // moves all of them
    members.erase(members.begin());
    hub.publish("a", "x");
    ws::membership kept = std::move(members.front());
    kept = hub.join(second, "b");  // leaves a
    hub.publish("a", "y");
    hub.publish("b", "z");
    EXPECT_EQ(first.all(), "");
    EXPECT_EQ(second.all(), "x z");
    EXPECT_EQ(third.all(), "x y");
    EXPECT_EQ(hub.members("a"), 1u);
    co_return;
}

WEIR_TEST(Hub, ReplaysWhatWasMissed) {
    ws::hub hub({.keep_messages = 3});
    for (int i = 0; i < 5; ++i) {
        hub.publish("a", numbered("m"));
    }
    const std::uint64_t epoch = hub.at("a").epoch;
    struct {
        ws::position seen;
        std::string heard;
        std::uint64_t missed;
        bool known;
    } const table[] = {
        {{epoch, 5}, "", 0, true},          {{epoch, 4}, "m5", 0, true},
        {{epoch, 2}, "m3 m4 m5", 0, true},  {{epoch, 1}, "m3 m4 m5", 1, true},
        {{epoch, 0}, "m3 m4 m5", 2, true},  {{0, 0}, "m3 m4 m5", 2, true},
        {{epoch, 6}, "m3 m4 m5", 2, false}, {{epoch + 1, 4}, "m3 m4 m5", 2, false},
        {{1, 0}, "m3 m4 m5", 2, false},
    };
    for (const auto& each : table) {
        SCOPED_TRACE(each.seen.text());
        ear client;
        auto member = hub.join(client, "a", each.seen);
        EXPECT_EQ(client.all(), each.heard);
        EXPECT_EQ(member.caught_up().missed, each.missed);
        EXPECT_EQ(member.caught_up().replayed, client.heard.size());
        EXPECT_EQ(member.caught_up().is_known, each.known);
        EXPECT_EQ(member.caught_up().at, hub.at("a"));
        hub.publish("b", "elsewhere");
        EXPECT_EQ(client.all(), each.heard);
    }
    ear client;
    auto member = hub.join(client, "a", ws::position{epoch, 4}.text());
    hub.publish("a", numbered("m"));
    EXPECT_EQ(client.all(), "m5 m6");
    auto again = hub.join(client, "a", "");
    EXPECT_EQ(client.all(), "m5 m6 m4 m5 m6");
    EXPECT_TRUE(again.caught_up().is_known);
    auto strange = hub.join(client, "a", "no token");
    EXPECT_FALSE(strange.caught_up().is_known);
    EXPECT_EQ(hub.stats().replayed, 0u + 1 + 3 * 7 + 1 + 3 + 3);
    co_return;
}

WEIR_TEST(Hub, AnotherLifeIsAnotherEpoch) {
    ear client;
    std::string token;
    {
        ws::hub hub;
        token = hub.publish("a", "x").text();
    }
    ws::hub hub({.keep_for = 1s});
    hub.publish("a", "y");
    {
        auto member = hub.join(client, "a", token);
        EXPECT_FALSE(member.caught_up().is_known);
        EXPECT_EQ(client.all(), "y");
        token = hub.at("a").text();
    }
    co_await weir::sleep(2s);
    EXPECT_EQ(hub.stats().topics, 0u);  // forgotten: no members, no messages
    hub.publish("a", "z");
    auto member = hub.join(client, "a", token);
    EXPECT_FALSE(member.caught_up().is_known);
    EXPECT_EQ(client.all(), "y z");
    EXPECT_EQ(hub.at("a").number, 1u);
}

WEIR_TEST(Hub, GreetsBeforeTheReplayAndFitsItIntoTheOutbox) {
    ws::hub hub;
    for (int i = 0; i < 10; ++i) {
        hub.publish("a", numbered("m"));  // 4 bytes as a frame, the last 5
    }
    const auto greet = [](const ws::catch_up& found) {
        return "+" + std::to_string(found.replayed) + "-" + std::to_string(found.missed);
    };
    struct {
        ws::outbox_room room;
        std::string heard;
    } const table[] = {
        {{}, "+10-0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10"},
        {{.messages = 3}, "+2-8 m9 m10"},
        {{.messages = 1}, "+0-10"},
        {{.messages = 0}, "+0-10"},
        {{.bytes = 15}, "+2-8 m9 m10"},
        {{.bytes = 14}, "+1-9 m10"},
        {{.bytes = 10}, "+0-10"},
        {{.bytes = 0}, "+0-10"},
        {{.bytes = 48}, "+10-0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10"},
        {{.bytes = 47}, "+9-1 m2 m3 m4 m5 m6 m7 m8 m9 m10"},
    };
    for (const auto& each : table) {
        ear client;
        client.left = each.room;
        auto member = hub.join(client, "a", ws::position(), greet);
        EXPECT_EQ(client.all(), each.heard);
        EXPECT_EQ(member.caught_up().replayed + member.caught_up().missed, 10u);
    }
    ear client;
    client.left.messages = 2;
    auto member = hub.join(client, "a", "");
    EXPECT_EQ(client.all(), "m9 m10");
    co_return;
}

// ---- while a message is delivered

WEIR_TEST(Hub, ChangesDuringADelivery) {
    ws::hub hub;
    std::vector<ear> ears(6);
    std::vector<ws::membership> members(6);
    for (std::size_t i = 0; i < 5; ++i) {
        members[i] = hub.join(ears[i], "a");
    }
    ears[1].on_post = [&](const std::string& word) {
        if (word == "one1") {
            members[0].leave();  // has it already
            members[1].leave();  // itself
            members[3].leave();  // will not get it
            members[5] = hub.join(ears[5], "a", ws::position());
            hub.publish("a", numbered("two"));
            EXPECT_EQ(ears[2].all(), "") << "the second must not overtake the first";
            members[0] = hub.join(ears[0], "a");  // sees the second, which is yet to come
        }
    };
    ears[4].on_post = [&](const std::string& word) {
        if (word == "two2") {
            hub.publish("a", numbered("three"));
            members[2] = {};
        }
    };
    hub.publish("a", numbered("one"));
    EXPECT_EQ(ears[0].all(), "one1 two2 three3");
    EXPECT_EQ(ears[1].all(), "one1");
    EXPECT_EQ(ears[2].all(), "one1 two2");
    EXPECT_EQ(ears[3].all(), "");
    EXPECT_EQ(ears[4].all(), "one1 two2 three3");
    EXPECT_EQ(ears[5].all(), "one1 two2 three3");
    EXPECT_EQ(hub.members("a"), 3u);
    hub.publish("a", numbered("four"));
    EXPECT_EQ(ears[0].heard.back(), "four4");
    EXPECT_EQ(ears[2].heard.back(), "two2");
    co_return;
}

WEIR_TEST(Hub, WhoJoinsDuringADeliveryGetsWhatWaitsOnce) {
    ws::hub hub;
    ear first;
    ear second;
    ws::membership two;
    auto one = hub.join(first, "a");
    first.on_post = [&](const std::string& word) {
        if (word == "m1") {
            hub.publish("a", numbered("m"));
            hub.publish("a", numbered("m"));
            two = hub.join(second, "a", ws::position());
            EXPECT_EQ(second.all(), "m1");
            EXPECT_EQ(two.caught_up().at.number, 1u);
        }
        if (word == "m3") {  // leaves, and says so
            one.leave();
            first.is_open = false;
        }
    };
    hub.publish("a", numbered("m"));
    EXPECT_EQ(first.all(), "m1 m2 m3");
    EXPECT_EQ(second.all(), "m1 m2 m3");
    EXPECT_EQ(hub.stats().members, 1u);
    EXPECT_EQ(hub.stats().removed, 0u);
    co_return;
}

WEIR_TEST(Hub, ATopicInUseMakesNoRoomForOthers) {
    ws::hub hub({.max_topics = 2});
    hub.publish("a", numbered("m"));
    ear client;
    const auto greet = [&](const ws::catch_up&) {
        hub.publish("b", "x");
        hub.publish("c", "x");
        return "hello";
    };
    auto member = hub.join(client, "a", "", greet);
    EXPECT_EQ(client.all(), "hello m1");
    EXPECT_EQ(hub.at("b"), ws::position());
    EXPECT_EQ(hub.at("a").number, 1u);
    EXPECT_EQ(hub.stats().topics, 2u);
    co_return;
}

WEIR_TEST(Hub, PublishingInsideAReplayComesBehindIt) {
    const std::size_t sizes[] = {1, 2, 100};
    for (const std::size_t kept : sizes) {
        ws::hub hub({.keep_messages = kept});
        ear other;
        auto listening = hub.join(other, "a");
        hub.publish("a", numbered("m"));
        hub.publish("a", numbered("m"));
        ear client;
        client.on_post = [&](const std::string&) {
            if (hub.at("a").number < 5) {
                hub.publish("a", numbered("m"));
            }
        };
        bool greeted = false;
        const auto greet = [&](const ws::catch_up& found) {
            if (!std::exchange(greeted, true)) {
                hub.publish("a", numbered("m"));  // may push out what is to be replayed
            }
            return "hello" + std::to_string(found.replayed);
        };
        auto member = hub.join(client, "a", ws::position(), greet);
        const std::string replayed = kept == 1 ? "hello1 m2" : "hello2 m1 m2";
        EXPECT_EQ(client.all(), replayed + " m3 m4 m5");
        EXPECT_EQ(other.all(), "m1 m2 m3 m4 m5");
    }
    co_return;
}

WEIR_TEST(Hub, DestroyedAtAnyMoment) {
    ear first;
    ear second;
    ws::membership one;
    ws::membership two;
    auto hub = std::make_unique<ws::hub>();
    one = hub->join(first, "a");
    hub.reset();
    EXPECT_FALSE(one.is_member());
    one.leave();

    hub = std::make_unique<ws::hub>();
    one = hub->join(first, "a");
    two = hub->join(second, "a");
    first.on_post = [&](const std::string&) { hub.reset(); };
    hub->publish("a", "x");  // inside a delivery
    EXPECT_FALSE(one.is_member());
    EXPECT_EQ(second.all(), "");

    hub = std::make_unique<ws::hub>();
    hub->publish("a", "y");
    hub->publish("a", "z");
    two = hub->join(first, "a", "");  // inside a replay
    EXPECT_FALSE(two.is_member());
    EXPECT_EQ(first.all(), "x y");

    hub = std::make_unique<ws::hub>();
    const auto greet = [&](const ws::catch_up&) {
        hub.reset();
        return "hello";
    };
    two = hub->join(second, "a", "", greet);
    EXPECT_FALSE(two.is_member());
    EXPECT_EQ(second.all(), "");
    co_return;
}

WEIR_TEST(Hub, ClosedAndThrowingMembersHarmNobody) {
    ws::hub hub;
    std::vector<ear> ears(5);
    std::vector<ws::membership> members;
    for (ear& each : ears) {
        members.push_back(hub.join(each, "a"));
    }
    deaf slow;
    auto behind = hub.join(slow, "a");
    ears[0].is_open = false;
    ears[2].on_post = [](const std::string&) { throw std::runtime_error("no memory"); };
    weir::testing::expect_report(weir::report_kind::callback_error,
                                 "a member of topic 'a' threw and was removed: no memory");
    hub.publish("a", "x");
    hub.publish("a", "y");
    EXPECT_EQ(ears[1].all(), "x y");
    EXPECT_EQ(ears[4].all(), "x y");
    EXPECT_EQ(ears[2].all(), "x");
    EXPECT_FALSE(members[0].is_member());
    EXPECT_FALSE(members[2].is_member());
    EXPECT_TRUE(members[4].is_member());
    const ws::hub_stats stats = hub.stats();
    EXPECT_EQ(stats.removed, 2u);
    EXPECT_EQ(stats.members, 4u);
    EXPECT_EQ(stats.dropped, 2u);
    EXPECT_EQ(stats.delivered, 8u);

    // One that is closed is found out by the replay, too.
    auto back = hub.join(ears[0], "a", "");
    EXPECT_FALSE(back.is_member());
    EXPECT_EQ(hub.members("a"), 4u);
    co_return;
}

WEIR_TEST(Hub, AMessageThatCannotBeMadeTakesNoNumber) {
    ws::hub hub;
    const auto fail = [](const ws::position&) -> std::string { throw std::runtime_error("no"); };
    EXPECT_THROW(hub.publish("a", fail), std::runtime_error);
    EXPECT_THROW(hub.publish("a", "\xff"), weir::invalid_argument);
    EXPECT_THROW(hub.publish("a", ws::frame()), weir::invalid_argument);
    EXPECT_EQ(hub.stats().topics, 0u);
    EXPECT_EQ(hub.publish("a", "x").number, 1u);
    const auto recurse = [&](const ws::position&) -> std::string {
        hub.publish("a", "y");
        return "z";
    };
    EXPECT_THROW(hub.publish("a", recurse), weir::invalid_state);
    EXPECT_EQ(hub.publish("a", "x").number, 3u);
    EXPECT_EQ(hub.publish("a", ws::frame::binary(std::string_view("\xff"))).number, 4u);
    co_return;
}

// ---- bounded

WEIR_TEST(Hub, MemoryIsBounded) {
    ws::hub hub({.max_topics = 100,
                 .max_topic_name = 10,
                 .keep_messages = 5,
                 .keep_bytes = 1000,
                 .keep_total_bytes = 20'000});
    const std::string text(200, 'x');
    for (int i = 0; i < 5000; ++i) {
        hub.publish("t" + std::to_string(i * 7919 % 1000), text);
        const ws::hub_stats stats = hub.stats();
        WEIR_ASSERT_LE(stats.topics, 100u);
        WEIR_ASSERT_LE(stats.kept_bytes, 20'000u);
        WEIR_ASSERT_EQ(stats.kept_bytes, stats.kept_messages * (204 + 128));
    }
    EXPECT_EQ(hub.stats().kept_messages, 60u);
    hub.publish("big", std::string(2000, 'x'));  // more than is kept of a topic
    EXPECT_EQ(hub.at("big").number, 0u);

    std::vector<ear> ears(101);
    std::vector<ws::membership> members;
    for (int i = 0; i < 100; ++i) {
        members.push_back(hub.join(ears[static_cast<std::size_t>(i)], "u" + std::to_string(i)));
    }
    EXPECT_EQ(hub.stats().topics, 100u);
    EXPECT_EQ(hub.stats().kept_messages, 0u);  // unused topics have made room
    EXPECT_THROW(members.push_back(hub.join(ears[100], "more")), weir::limit_exceeded);
    EXPECT_THROW(hub.publish("more", "x"), weir::limit_exceeded);
    EXPECT_THROW(members.push_back(hub.join(ears[100], "a much too long name")),
                 weir::limit_exceeded);
    hub.publish("u5", "x");
    members.clear();
    EXPECT_EQ(hub.stats().topics, 1u);
    EXPECT_EQ(hub.stats().members, 0u);
    co_return;
}

WEIR_TEST(Hub, OldMessagesGo) {
    ws::hub hub({.keep_for = 10s});
    ear listening;
    auto member = hub.join(listening, "a");
    hub.publish("a", numbered("m"));
    for (int i = 0; i < 100; ++i) {
        hub.publish("t" + std::to_string(i), "x");
    }
    co_await weir::sleep(6s);
    hub.publish("a", numbered("m"));
    co_await weir::sleep(6s);
    ear client;
    auto late = hub.join(client, "a", "");
    EXPECT_EQ(client.all(), "m2");
    EXPECT_EQ(late.caught_up().missed, 1u);
    for (int i = 0; i < 4; ++i) {
        hub.publish("a", "y");  // each forgets some of the rest
    }
    EXPECT_EQ(hub.at("t99"), ws::position());
    EXPECT_EQ(hub.stats().topics, 1u);
}

WEIR_TEST(Hub, LeastRecentlyUsedTopicsGoFirst) {
    ws::hub hub({.max_topics = 3});
    ear client;
    hub.publish("a", "x");
    hub.publish("b", "x");
    hub.publish("c", "x");
    hub.publish("a", "x");
    {
        auto visit = hub.join(client, "b");
    }
    hub.publish("d", "x");
    EXPECT_EQ(hub.at("c"), ws::position());
    EXPECT_NE(hub.at("a"), ws::position());
    auto stays = hub.join(client, "a");
    hub.publish("e", "x");
    hub.publish("f", "x");
    EXPECT_NE(hub.at("a"), ws::position());
    EXPECT_NE(hub.at("e"), ws::position());
    EXPECT_EQ(hub.at("d"), ws::position());
    co_return;
}

WEIR_TEST(Hub, OptionsAreChecked) {
    const auto refused = [](const ws::hub_options& options) -> std::string {
        try {
            ws::hub hub(options);
        } catch (const weir::invalid_argument& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_EQ(refused({.max_topics = 0}), "ws::hub: max_topics is 0; it must be at least 1");
    EXPECT_EQ(refused({.max_topic_name = 0}),
              "ws::hub: max_topic_name is 0; it must be at least 1");
    EXPECT_EQ(refused({.keep_bytes = 1000, .keep_total_bytes = 10}),
              "ws::hub: keep_total_bytes is 10; it must be at least keep_bytes, which is 1000");
    EXPECT_NE(refused({.keep_for = 0s}), "");
    ws::hub hub({.keep_messages = 0});
    ear client;
    hub.publish("a", "x");
    EXPECT_EQ(hub.stats().topics, 0u);
    auto member = hub.join(client, "a", "");
    hub.publish("a", "y");
    EXPECT_EQ(client.all(), "y");
    co_return;
}
