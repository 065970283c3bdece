// SPDX-License-Identifier: MIT
// The hub against a plain model of it: random joins, leaves, publishes and pauses.
#include "recording_member.hpp"

#include <weir/io/error.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>
#include <weir/ws/hub.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace ws = weir::ws;

namespace {

using hub_test::ear;

// What a client of the model knows of one topic.
struct view {
    std::optional<ws::membership> member;
    ws::position seen;
    bool ever = false;
};

struct model_client {
    ear ear_;
    std::map<std::string, view> topics;
    std::size_t checked = 0;
};

}  // namespace

// Clients come, go and come back with what they have seen, at random. Each must see every message
// of its topics in order, once, or hear exactly how many are gone.
WEIR_TEST(HubModel, EveryMessageOnceOrCountedAsMissed) {
    weir::testing::once_is_enough();
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        const auto pick = [&](std::size_t below) {
            return static_cast<std::size_t>(random() % below);
        };
        const std::size_t keep = 1 + pick(12);
        ws::hub hub({.max_topics = 3 + pick(4), .keep_messages = keep, .keep_for = 20s});
        std::vector<model_client> clients(6);
        // For each topic: its epoch, the number of messages, and the times of the messages that may
        // be kept.
        struct life {
            std::uint64_t epoch = 0;
            std::uint64_t last = 0;
            std::deque<weir::clock::time_point> kept;
        };
        std::map<std::string, life> lives;
        const auto topic_name = [&] { return "t" + std::to_string(pick(5)); };
        for (int step = 0; step < 400; ++step) {
            const std::string name = topic_name();
            model_client& client = clients[pick(clients.size())];
            view& its = client.topics[name];
            const std::size_t action = pick(100);
            life& now_alive = lives[name];
            const auto refresh = [&] {
                hub.stats();  // forgets what is too old
                while (!now_alive.kept.empty() && weir::now() - now_alive.kept.front() >= 20s) {
                    now_alive.kept.pop_front();
                }
                if (hub.at(name).epoch != now_alive.epoch) {  // forgotten, or new
                    now_alive = {};
                }
            };
            if (action < 50) {
                refresh();
                ws::position published;
                try {
                    published = hub.publish(name, [&](const ws::position& at) {
                        return name + ":" + std::to_string(at.number);
                    });
                } catch (const weir::limit_exceeded&) {
                    WEIR_ASSERT_EQ(hub.at(name).epoch, 0u);
                    continue;
                }
                if (now_alive.epoch == 0) {
                    WEIR_ASSERT_EQ(published.number, 1u);
                    now_alive.epoch = published.epoch;
                }
                WEIR_ASSERT_EQ(published.number, ++now_alive.last);
                now_alive.kept.push_back(weir::now());
                if (now_alive.kept.size() > keep) {
                    now_alive.kept.pop_front();
                }
                for (model_client& each : clients) {
                    view& at = each.topics[name];
                    if (at.member && at.member->is_member()) {
                        WEIR_ASSERT_EQ(each.ear_.heard.size(), each.checked + 1);
                        WEIR_ASSERT_EQ(each.ear_.heard.back(),
                                       name + ":" + std::to_string(published.number));
                        WEIR_ASSERT_EQ(at.seen.number + 1, published.number);
                        at.seen = published;
                        each.checked = each.ear_.heard.size();
                    }
                    WEIR_ASSERT_EQ(each.ear_.heard.size(), each.checked);
                }
            } else if (action < 75 && !its.member) {
                refresh();
                client.ear_.left = {};
                if (pick(4) == 0) {
                    client.ear_.left.messages = pick(5);
                }
                try {
                    its.member = hub.join(client.ear_, name, its.ever ? its.seen.text() : "");
                } catch (const weir::limit_exceeded&) {
                    WEIR_ASSERT_EQ(hub.at(name).epoch, 0u);
                    continue;
                }
                const ws::catch_up found = its.member->caught_up();
                if (now_alive.epoch == 0) {
                    now_alive.epoch = hub.at(name).epoch;
                }
                const bool known = !its.ever || its.seen.epoch == now_alive.epoch;
                WEIR_ASSERT_EQ(found.is_known, known);
                const std::uint64_t from = its.ever && known ? its.seen.number : 0;
                const std::uint64_t unseen = now_alive.last - from;
                const std::uint64_t expected = std::min<std::uint64_t>(
                    {unseen, now_alive.kept.size(), client.ear_.left.messages});
                WEIR_ASSERT_EQ(found.replayed, expected);
                WEIR_ASSERT_EQ(found.missed, unseen - expected);
                for (std::uint64_t i = 0; i < expected; ++i) {
                    WEIR_ASSERT_LT(client.checked, client.ear_.heard.size());
                    WEIR_ASSERT_EQ(client.ear_.heard[client.checked++],
                                   name + ":" + std::to_string(now_alive.last - expected + 1 + i));
                }
                WEIR_ASSERT_EQ(client.checked, client.ear_.heard.size());
                WEIR_ASSERT_EQ(found.at, (ws::position{now_alive.epoch, now_alive.last}));
                its.seen = found.at;
                its.ever = true;
            } else if (action < 95) {
                its.member.reset();
            } else {
                co_await weir::sleep(std::chrono::seconds(pick(15)));
            }
        }
        std::size_t members = 0;
        for (model_client& each : clients) {
            for (auto& [name, at] : each.topics) {
                members += at.member ? 1 : 0;
            }
        }
        EXPECT_EQ(hub.stats().members, members);
    }
}
