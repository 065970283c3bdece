// SPDX-License-Identifier: MIT
// GET /events over a simulated network: messages to subscribers, reconnects, and clients that do
// not read.

#include "served.hpp"

#include <weir/io/error.hpp>

#include <array>
#include <functional>
#include <memory>

namespace {

using namespace api_test;
using namespace std::chrono_literals;
namespace ws = weir::ws;
using weir::testing::simulated_network;

constexpr std::array<std::string_view, 1> tokens = {"0123456789abcdef"};
constexpr std::array<std::string_view, 2> offered = {"weir.events",
                                                     "weir.token.MDEyMzQ1Njc4OWFiY2RlZg"};

new_task sleeper(int seconds, std::string queue = "default") {
    new_task fresh("sleep", R"({"seconds": )" + std::to_string(seconds) + "}");
    fresh.queue = std::move(queue);
    return fresh;
}

}  // namespace

// A page that is opened later shows the last minutes, even if no client was connected; an idle
// service is not woken up.
WEIR_TEST(ServiceEvents, NumbersAreGatheredBeforeAnybodyWatches) {
    simulated_network net({.link = {.latency = 5ms}});
    served server(net);
    const auto sum = [](const bj::value& list) {
        double all = 0;
        for (const bj::value& each : list.as_array()) {
            all += each.is_null() ? 0 : each.to_number<double>();
        }
        return all;
    };
    co_await weir::sleep(10s);
    const answer empty = co_await server.here.get("/stats/history");
    EXPECT_EQ(empty.json.at("at").as_array().size(), 0U) << empty.text;
    for (int i = 0; i < 10; ++i) {
        co_await server.here.tasks.submit(sleeper(1));
        co_await weir::sleep(1s);
    }
    co_await weir::sleep(100s);
    const answer burst = co_await server.here.get("/stats/history");
    EXPECT_NEAR(sum(burst.json.at("submitted")), 10, 0.5) << burst.text;
    EXPECT_NEAR(sum(burst.json.at("completed")), 10, 0.5) << burst.text;
    EXPECT_NEAR(sum(burst.json.at("run_p50")), 10, 2.5) << burst.text;
    // The history ends with zeros, and idle seconds take no samples.
    const bj::array& at = burst.json.at("at").as_array();
    EXPECT_LT(at.size(), 20U);
    EXPECT_EQ(burst.json.at("completed").as_array().back(), 0);
    EXPECT_TRUE(burst.json.at("wait_p50").as_array().back().is_null());
    for (const auto& each : burst.json.as_object()) {
        EXPECT_TRUE(each.key() == "interval" || each.value().as_array().size() == at.size());
    }

    // Published samples are the same as those in the history.
    auto body = [&](ws::connection& peer) -> weir::task<> {
        const bj::value first = co_await next(peer, "stats");
        const answer now = co_await server.here.get("/stats/history");
        EXPECT_EQ(now.json.at("at").as_array().back(), first.at("at")) << now.text;
    };
    co_await server.visit("/events?topic=stats", body);

    // The history keeps five minutes, no matter how long the service runs.
    for (int i = 0; i < 400; ++i) {
        co_await server.here.tasks.submit(sleeper(0));
        co_await weir::sleep(1s);
    }
    const answer full = co_await server.here.get("/stats/history");
    EXPECT_EQ(full.json.at("at").as_array().size(), 300U);
    EXPECT_NEAR(sum(full.json.at("submitted")), 300, 3);
    EXPECT_LT(full.text.size(), 30'000U);
    co_await server.stop();
}

WEIR_TEST(ServiceEvents, SubscribersHearWhatTheyAskedFor) {
    simulated_network net({.link = {.latency = 5ms}});
    served server(net);
    auto body = [&](ws::connection& peer) -> weir::task<> {
        const bj::value joined = co_await next(peer, "subscribed");
        EXPECT_EQ(joined.at("topic"), "queue:mail");
        const submit_result other = co_await server.here.tasks.submit(sleeper(1));
        const submit_result mine = co_await server.here.tasks.submit(sleeper(1, "mail"));
        std::vector<std::string> states;
        while (states.empty() || states.back() != "completed") {
            const bj::value message = co_await next(peer, "tasks");
            for (const bj::value& each : message.at("tasks").as_array()) {
                EXPECT_EQ(each.at("id"), bj::value(mine.id.text()));
                states.emplace_back(each.at("status").as_string());
            }
        }
        EXPECT_LE(states.size(), 3U);

        co_await peer.send(R"({"subscribe": ["task:)" + other.id.text() +
                           R"(", "stats", "queues"]})");
        for (int i = 0; i < 3; ++i) {
            co_await next(peer, "subscribed");
        }
        const bj::value queues = co_await next(peer, "queues");
        EXPECT_EQ(queues.at("queues").as_array().size(), 2U);
        // A client that subscribes while the service is idle gets the queues, too.
        const std::string message = R"({"subscribe": "queues"})";
        co_await weir::sleep(5s);
        co_await peer.send(message);
        co_await next(peer, "subscribed");
        co_await next(peer, "queues");
        const bj::value stats = co_await next(peer, "stats");
        EXPECT_GE(stats.at("completed").to_number<int>(), 1);
        EXPECT_TRUE(stats.at("wait").as_object().contains("p99"));
        EXPECT_TRUE(stats.at("rates").as_object().contains("completed"));

        // An invalid topic is named in the error and does not keep the others out.
        co_await peer.send(R"({"subscribe": ["nothing\u0000", "task:1", "queue:b"]})");
        const bj::value wrong = co_await next(peer, "error");
        EXPECT_EQ(wrong.at("topic").as_string(), std::string_view("nothing\0", 8));
        EXPECT_EQ(
            std::string(wrong.at("detail").as_string()).find("there is no topic 'nothing\\x00'"),
            0U);
        const bj::value other_wrong = co_await next(peer, "error");
        EXPECT_EQ(other_wrong.at("topic"), "task:1");
        const bj::value right = co_await next(peer, "subscribed");
        EXPECT_EQ(right.at("topic"), "queue:b");
        std::string many = R"({"subscribe": ["x")";
        for (int i = 0; i < 1000; ++i) {
            many += R"(, "x")";
        }
        co_await peer.send(many + "]}");
        const bj::value too_many = co_await next(peer, "error");
        EXPECT_EQ(too_many.at("detail"), "'subscribe' has 1001 topics; there may be up to 100");

        co_await peer.send(R"({"unsubscribe": "queue:mail"})");
        const bj::value left = co_await next(peer, "unsubscribed");
        EXPECT_EQ(left.at("topic"), "queue:mail");
        const std::string odd[] = {"{",
                                   "7",
                                   "{}",
                                   R"({"subscribe": 7})",
                                   R"({"subscribe": "x"})",
                                   R"({"subscribe": ["all", "stats"], "since": "a"})",
                                   R"({"subscribe": "task:1"})",
                                   R"({"subscribe": "queue:"})"};
        for (const std::string& each : odd) {
            co_await peer.send(each);
            const bj::value refused = co_await next(peer, "error");
            EXPECT_FALSE(refused.at("detail").as_string().empty()) << each;
        }
    };
    co_await server.visit("/events?topic=queue:mail", body);
    co_await server.stop();
}

WEIR_TEST(ServiceEvents, WhoComesBackMissesNothing) {
    simulated_network net({.link = {.latency = 5ms}});
    served server(net);
    std::string position;
    auto first = [&](ws::connection& peer) -> weir::task<> {
        co_await next(peer, "subscribed");
        co_await server.here.tasks.submit(new_task("echo"));
        const bj::value message = co_await next(peer, "tasks");
        position = std::string(message.at("position").as_string());
    };
    co_await server.visit("/events?topic=all", first);
    const submit_result missed = co_await server.here.tasks.submit(new_task("echo", "2"));
    co_await weir::sleep(1s);
    auto second = [&](ws::connection& peer) -> weir::task<> {
        const bj::value joined = co_await next(peer, "subscribed");
        EXPECT_EQ(joined.at("is_known"), true);
        EXPECT_EQ(joined.at("missed"), 0);
        EXPECT_GE(joined.at("replayed").to_number<int>(), 1);
        std::string last;
        while (last != "completed") {
            const bj::value received = co_await next(peer, "tasks");
            for (const bj::value& each : received.at("tasks").as_array()) {
                if (each.at("id") == bj::value(missed.id.text())) {
                    last = std::string(each.at("status").as_string());
                }
            }
        }
    };
    co_await server.visit("/events?topic=all&since=" + position, second);
    auto third = [&](ws::connection& peer) -> weir::task<> {
        const std::string message = R"({"subscribe": "all", "since": "0123456789abcdef-5"})";
        co_await peer.send(message);
        const bj::value joined = co_await next(peer, "subscribed");
        EXPECT_EQ(joined.at("is_known"), false);
    };
    co_await server.visit("/events", third);
    co_await server.stop();
}

WEIR_TEST(ServiceEvents, StrangersAreTurnedAway) {
    simulated_network net;
    served server(net, {.access = {.tokens = tokens}, .max_subscriptions = 2});
    auto nothing = [](ws::connection&) -> weir::task<> { co_return; };
    const auto code_of = [&](std::string target,
                             ws::connect_options options) -> weir::task<unsigned> {
        try {
            co_await server.visit(target, nothing, options);
        } catch (const ws::handshake_error& error) {
            co_return number_of(error.status());
        }
        co_return 101;
    };
    const unsigned no_token = co_await code_of("/events?topic=all", {});
    EXPECT_EQ(no_token, 401U);
    const unsigned in_url = co_await code_of("/events?token=0123456789abcdef", {});
    EXPECT_EQ(in_url, 401U);
    ws::connect_options page;
    page.protocols = offered;
    page.origin = "http://localhost";
    const unsigned own_page = co_await code_of("/events", page);
    EXPECT_EQ(own_page, 101U);
    page.origin = "http://evil.example";
    const unsigned other_page = co_await code_of("/events", page);
    EXPECT_EQ(other_page, 403U);
    page.origin = "";
    const unsigned three = co_await code_of("/events?topic=all&topic=stats&topic=queues", page);
    EXPECT_EQ(three, 422U);
    const unsigned unknown = co_await code_of("/events?queue=a", page);
    EXPECT_EQ(unknown, 422U);
    const unsigned several = co_await code_of("/events?topic=all&topic=stats&since=a", page);
    EXPECT_EQ(several, 422U);
    auto greedy = [](ws::connection& peer) -> weir::task<> {
        EXPECT_EQ(peer.protocol(), "weir.events");
        for (const char* each : {"all", "stats", "queues"}) {
            const std::string message = R"({"subscribe": ")" + std::string(each) + "\"}";
            co_await peer.send(message);
        }
        const bj::value refused = co_await next(peer, "error");
        EXPECT_NE(std::string(refused.at("detail").as_string()).find("up to 2"), std::string::npos);
    };
    co_await server.visit("/events", greedy, page);
    co_await server.stop();
}

// With many subscribers, some of them frozen: submits take no longer, the other clients receive
// everything, and the buffers for the frozen ones are bounded.
WEIR_TEST(ServiceEvents, FrozenClientsDelayNobody) {
    simulated_network net({.link = {.latency = 1ms}});
    served server(net);
    std::size_t heard = 0;
    auto watch = [&](ws::connection& peer) -> weir::task<> {
        for (;;) {
            const bj::value message = co_await next(peer, "tasks");
            heard +=
                message.at("tasks").as_array().size() + message.at("more").to_number<std::size_t>();
        }
    };
    auto freeze = [](ws::connection& peer) -> weir::task<> { co_await peer.wait_closed(); };
    auto crowd = [&](weir::task_group& group) -> weir::task<> {
        ws::connect_options tiny;
        tiny.connection.inbox_messages = 1;
        for (int i = 0; i < 10; ++i) {
            const std::string name = "frozen" + std::to_string(i);
            auto one = [&server, &freeze, name, tiny]() -> weir::task<> {
                (void)co_await weir::settle(
                    server.visit("/events?topic=all&topic=stats", freeze, tiny, name));
            };
            group.spawn(one);
        }
        auto looker = [&]() -> weir::task<> {
            (void)co_await weir::settle(server.visit("/events?topic=all", watch));
        };
        group.spawn(looker);
        co_await weir::sleep(100ms);
        std::vector<new_task> many(50, new_task("echo", R"("a payload")"));
        for (int i = 0; i < 400; ++i) {
            const auto before = weir::now();
            co_await server.here.tasks.submit(many);
            EXPECT_LT(weir::now() - before, 10ms);
            co_await weir::sleep(50ms);
        }
        co_await weir::sleep(1s);
        const answer stats = co_await server.here.get("/stats");
        EXPECT_EQ(stats.json.at("feed").at("subscriptions"), 1) << stats.text;
        EXPECT_GE(stats.json.at("feed").at("removed").to_number<int>(), 10) << stats.text;
        group.cancel();
    };
    co_await weir::with_group(crowd);
    EXPECT_GE(heard, 20'000U);
    co_await server.stop();
}

// Stopped at any moment, with clients that connect, listen and disconnect: no memory leaks, and
// none is used after it was freed.
WEIR_TEST(ServiceEvents, AStopAtAnyMomentLeavesNothing) {
    for (int moment = 0; moment < 24; ++moment) {
        simulated_network net({.link = {.latency = 3ms}});
        served server(net);
        auto listen = [](ws::connection& peer) -> weir::task<> {
            for (int i = 0; i < 5; ++i) {
                co_await next(peer, "tasks");
            }
        };
        auto visit = [&](std::string name) -> weir::task<> {
            for (;;) {
                (void)co_await weir::settle(
                    server.visit("/events?topic=all&topic=stats&topic=queues", listen, {}, name));
                co_await weir::sleep(5ms);
            }
        };
        auto work = [&]() -> weir::task<> {
            for (;;) {
                co_await server.here.tasks.submit(new_task("echo"));
                co_await weir::sleep(7ms);
            }
        };
        auto world = [&](weir::task_group& group) -> weir::task<> {
            group.spawn(visit("one"));
            group.spawn(visit("two"));
            group.spawn(work());
            co_await weir::sleep(std::chrono::milliseconds(moment * 89));
            co_await server.stop();
            group.cancel();
        };
        co_await weir::with_group(world);
    }
}
