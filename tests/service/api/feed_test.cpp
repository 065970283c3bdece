// SPDX-License-Identifier: MIT
// The feed: topics, collecting under load, subscribers that reconnect, and bounded memory.

#include "service/api/feed.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

namespace bj = boost::json;
namespace http = weir::http;
namespace ws = weir::ws;
using namespace std::chrono_literals;
using namespace weir::service;
using detail::feed;
using detail::feed_options;

// A subscriber that parses the messages it receives.
struct ear {
    ws::posted post(const ws::frame& message) {
        if (!is_open) {
            return ws::posted::refused;
        }
        bytes += message.size();
        heard.push_back(http::parse_json(message.content().text()));
        return ws::posted::queued;
    }
    ws::outbox_room room() const { return {}; }
    std::size_t count(std::string_view type) const {
        std::size_t found = 0;
        for (const bj::value& each : heard) {
            found += each.at("type").as_string() == type ? 1 : 0;
        }
        return found;
    }
    std::string position() const { return std::string(heard.back().at("position").as_string()); }

    std::vector<bj::value> heard;
    std::size_t bytes = 0;
    bool is_open = true;
};

task_event event(std::int64_t id, task_view view, std::string queue = "default") {
    task_event record;
    record.id = task_id(id);
    record.kind = "echo";
    record.queue = std::move(queue);
    record.view = view;
    record.at = timestamp(1h);
    return record;
}

double seconds_of(weir::clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

void tell(feed& to, const std::vector<task_event>& events) {
    to.changed(events);
}

std::string refusal(feed& source, std::string_view topic) {
    ear nobody;
    try {
        auto member = source.join(nobody, topic, std::nullopt);
    } catch (const http::problem& error) {
        return std::to_string(number_of(error.code()));
    }
    return "joined";
}

}  // namespace

WEIR_TEST(ServiceFeed, TopicsHearWhatIsTheirs) {
    feed live;
    ear all;
    ear mail;
    ear one;
    const std::string name = "task:" + task_id(7).text();
    const auto a = live.join(all, "all", std::nullopt);
    const auto b = live.join(mail, "queue:mail", std::nullopt);
    const auto c = live.join(one, name, std::nullopt);
    EXPECT_EQ(all.heard.at(0).at("type"), "subscribed");
    EXPECT_EQ(all.heard.at(0).at("topic"), "all");
    EXPECT_EQ(all.heard.at(0).at("seq"), 0);

    tell(live, {event(7, task_view::pending, "mail"), event(8, task_view::pending)});
    WEIR_ASSERT_EQ(all.heard.size(), 2U);  // an idle feed publishes at once
    EXPECT_EQ(all.heard[1].at("tasks").as_array().size(), 2U);
    EXPECT_EQ(all.heard[1].at("seq"), 1);
    EXPECT_EQ(all.heard[1].at("more"), 0);
    const bj::value first = all.heard[1].at("tasks").at(0);
    EXPECT_EQ(first.at("id"), bj::value(task_id(7).text()));
    EXPECT_EQ(first.at("state"), "pending");
    EXPECT_EQ(first.at("at"), "1970-01-01T01:00:00.000000Z");
    EXPECT_EQ(mail.heard.at(1).at("tasks").as_array().size(), 1U);
    EXPECT_EQ(one.heard.at(1).at("tasks").as_array().size(), 1U);

    // The newest state, once, an interval later.
    for (int i = 0; i < 10; ++i) {
        tell(live, {event(7, task_view::running, "mail")});
        co_await weir::sleep(5ms);
    }
    tell(live, {event(7, task_view::completed, "mail")});
    EXPECT_EQ(one.heard.size(), 2U);
    co_await weir::sleep(60ms);
    WEIR_ASSERT_EQ(one.heard.size(), 3U);
    EXPECT_EQ(one.heard[2].at("tasks").as_array().size(), 1U);
    EXPECT_EQ(one.heard[2].at("tasks").at(0).at("status"), "completed");
    co_await weir::sleep(1s);
    EXPECT_EQ(one.heard.size(), 3U);  // no further changes

    for (const char* bad : {"", "al", "ALL", "queue:", "queue", "task:7", "queue:\xff",
                            "queue:a\nb", "task:", "events", "queue: \x7f"}) {
        EXPECT_EQ(refusal(live, bad), "422") << bad;
    }
    EXPECT_EQ(refusal(live, "queue:" + std::string(101, 'a')), "422");
    EXPECT_EQ(refusal(live, "queue:caf\u00e9"), "joined");
}

// From when it could have run: a task of a slot that was missed has not waited since then.
WEIR_TEST(ServiceFeed, WaitsBeginWhenTheTaskIsThere) {
    feed live;
    const std::int64_t created = 1'790'000'000'000;
    task_event begun = event(next_id({}, created).number(), task_view::running);
    begun.at = timestamp(std::chrono::milliseconds(created + 500));
    begun.started_at = begun.at;
    begun.due_at = timestamp(1h);
    tell(live, {begun});
    EXPECT_EQ(live.waits().count(), 1U);
    EXPECT_NEAR(seconds_of(live.waits().percentile(0.99)), 0.5, 0.1);
    live.waits().clear();
    begun.due_at = begun.at - 100ms;
    tell(live, {begun});
    EXPECT_NEAR(seconds_of(live.waits().percentile(0.99)), 0.1, 0.02);
    co_return;
}

WEIR_TEST(ServiceFeed, BusyTopicsGather) {
    feed live({.tasks_per_message = 20});
    ear all;
    const auto member = live.join(all, "all", std::nullopt);
    std::uint64_t count = 0;
    for (int i = 0; i < 2000; ++i) {  // 10,000 changes in a second
        for (int j = 0; j < 10; ++j) {
            tell(live, {event(1 + i * 10 + j, task_view::running)});
            ++count;
        }
        co_await weir::sleep(500us);
    }
    co_await weir::sleep(1s);
    EXPECT_LE(all.count("tasks"), 12U);
    EXPECT_GE(all.count("tasks"), 9U);
    EXPECT_LT(all.bytes, 12U * 20 * 220);
    std::uint64_t shown = 0;
    std::uint64_t seq = 0;
    for (const bj::value& each : all.heard) {
        EXPECT_EQ(each.at("seq"), seq++);
        if (each.at("type") == "tasks") {
            EXPECT_LE(each.at("tasks").as_array().size(), 20U);
            shown += each.at("tasks").as_array().size() + each.at("more").to_number<unsigned>();
        }
    }
    EXPECT_EQ(shown, count);
}

// The more subscribers, the longer the interval between messages: the traffic is bounded.
WEIR_TEST(ServiceFeed, ManyMembersAreToldLessOften) {
    feed live;
    std::vector<ear> crowd(2000);
    std::vector<ws::membership> members;
    for (ear& each : crowd) {
        members.push_back(live.join(each, "all", std::nullopt));
    }
    for (int i = 0; i < 1000; ++i) {
        tell(live, {event(1 + i % 5, task_view::running)});
        co_await weir::sleep(10ms);
    }
    EXPECT_LE(crowd[0].count("tasks"), 6U);
    EXPECT_GE(crowd[0].count("tasks"), 5U);
    for (std::size_t i = 0; i < crowd.size(); ++i) {
        crowd[i].is_open = i == 0;  // all other tasks were removed, without a notification
    }
    tell(live, {event(1, task_view::completed)});
    co_await weir::sleep(3s);
    tell(live, {event(1, task_view::completed)});
    co_await weir::sleep(3s);
    const std::size_t before = crowd[0].count("tasks");
    for (int i = 0; i < 100; ++i) {
        tell(live, {event(1, task_view::running)});
        co_await weir::sleep(10ms);
    }
    EXPECT_GE(crowd[0].count("tasks"), before + 9);
}

WEIR_TEST(ServiceFeed, WhoComesBackGetsWhatWasMissed) {
    feed live({.interval = 0ms, .linger = 60s});
    ear first;
    {
        const auto member = live.join(first, "all", std::nullopt);
        tell(live, {event(1, task_view::pending)});
    }
    const std::string seen = first.position();
    tell(live, {event(2, task_view::pending)});
    tell(live, {event(3, task_view::pending)});
    ear again;
    {
        const auto member = live.join(again, "all", seen);
        WEIR_ASSERT_EQ(again.heard.size(), 3U);
        EXPECT_EQ(again.heard[0].at("replayed"), 2);
        EXPECT_EQ(again.heard[0].at("missed"), 0);
        EXPECT_EQ(again.heard[0].at("is_known"), true);
        // A client that is disconnected after the greeting has missed all messages after it.
        EXPECT_EQ(again.heard[0].at("seq"), 1);
        EXPECT_EQ(std::string(again.heard[0].at("position").as_string()), seen);
        EXPECT_EQ(again.heard[1].at("seq"), 2);
        EXPECT_EQ(again.heard[2].at("seq"), 3);
        co_await weir::sleep(10ms);
        tell(live, {event(4, task_view::pending)});
        EXPECT_EQ(again.heard.back().at("seq"), 4);
    }
    // After a long time without subscribers the topic ends: its positions are unknown, even if it
    // is opened again.
    for (int i = 0; i < 30; ++i) {
        co_await weir::sleep(10s);
        tell(live, {event(5 + i, task_view::pending)});
    }
    ear late;
    const auto member = live.join(late, "all", again.position());
    EXPECT_EQ(late.heard.at(0).at("is_known"), false);
    for (const char* odd : {"", "nonsense", "0000000000000000-1", "ffffffffffffffff-999999999"}) {
        ear other;
        const auto joined = live.join(other, "all", std::string(odd));
        EXPECT_EQ(other.heard.at(0).at("type"), "subscribed") << odd;
    }
}

WEIR_TEST(ServiceFeed, TopicsNobodyIsInCostNothing) {
    feed live({.linger = 10s, .max_topics = 100});
    tell(live, {event(1, task_view::pending)});
    EXPECT_EQ(live.stats().published, 0U);
    {
        std::vector<ear> ears(100);
        std::vector<ws::membership> members;
        for (std::size_t i = 0; i < ears.size(); ++i) {
            const std::string topic = "task:" + task_id(static_cast<std::int64_t>(i + 1)).text();
            members.push_back(live.join(ears[i], topic, std::nullopt));
        }
        EXPECT_EQ(refusal(live, "all"), "429");
        tell(live, {event(1, task_view::completed), event(100, task_view::completed),
                    event(101, task_view::completed)});
        EXPECT_EQ(ears[0].count("tasks"), 1U);
        EXPECT_EQ(ears[99].count("tasks"), 1U);
        EXPECT_EQ(ears[50].count("tasks"), 0U);
    }
    // Topics without subscribers, which linger for clients that reconnect, do not block new topics.
    co_await weir::sleep(2s);
    EXPECT_EQ(refusal(live, "all"), "joined");
    EXPECT_LE(live.topics(), 1U);
    co_await weir::sleep(30s);
    EXPECT_EQ(refusal(live, "all"), "joined");
    co_await weir::sleep(30s);
    EXPECT_EQ(refusal(live, "stats"), "joined");
    EXPECT_LE(live.topics(), 2U);
    const std::uint64_t before = live.stats().published;
    const auto write = [](detail::json_writer& to, const detail::queue_patterns*) {
        to.member("a", 1);
    };
    live.publish("stats", "stats", write);
    live.publish("queues", "queues", write);
    EXPECT_EQ(live.stats().published, before + 1);  // to a client that resumes 'stats'
    EXPECT_FALSE(live.has_members("stats"));
}

// Any order of changes, joins and leaves: a permanent subscriber has, in the end, the newest state
// of all tasks that were shown, in messages without a gap.
WEIR_TEST(ServiceFeed, TheLastStateIsTold) {
    for (unsigned seed = 0; seed < 30; ++seed) {
        std::mt19937 random(seed);
        const auto pick = [&](int most) {
            return std::uniform_int_distribution<int>(0, most)(random);
        };
        feed live({.tasks_per_message = 1000});
        ear stays;
        const auto member = live.join(stays, "all", std::nullopt);
        std::map<std::string, std::string> truth;
        std::map<int, std::pair<ear, ws::membership>> guests;
        for (int step = 0; step < 200; ++step) {
            std::vector<task_event> events;
            for (int i = pick(4); i > 0; --i) {
                events.push_back(
                    event(1 + pick(20), static_cast<task_view>(pick(7)), pick(1) == 0 ? "a" : "b"));
                truth[events.back().id.text()] = to_string(events.back().view);
            }
            live.changed(events);
            const int client = pick(3);
            if (pick(5) == 0) {
                guests.erase(client);
            } else if (pick(5) == 0 && !guests.contains(client)) {
                auto& [guest, place] = guests[client];
                place = live.join(guest, pick(1) == 0 ? "all" : "queue:a",
                                  pick(1) == 0 ? std::optional<std::string>() : "");
            }
            co_await weir::sleep(std::chrono::milliseconds(pick(40)));
        }
        guests.clear();
        co_await weir::sleep(1s);
        std::map<std::string, std::string> shown;
        std::uint64_t seq = 0;
        for (const bj::value& each : stays.heard) {
            EXPECT_EQ(each.at("seq"), seq++);
            if (each.at("type") != "tasks") {
                continue;
            }
            EXPECT_EQ(each.at("more"), 0);
            for (const bj::value& task : each.at("tasks").as_array()) {
                shown[std::string(task.at("id").as_string())] = task.at("status").as_string();
            }
        }
        EXPECT_EQ(shown, truth);
    }
}
