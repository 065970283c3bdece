// SPDX-License-Identifier: MIT
// Several nodes on PostgreSQL, each with its API: what one does, the others hear of.

#include <support/peers/postgres.hpp>
#include <support/peers/program.hpp>

#include <weir/db/pg/connection.hpp>
#include <weir/http/json.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/service/api.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/service.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/weir.hpp>
#include <weir/ws/client.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace weir::service;
using weir::task;
namespace bj = boost::json;
namespace http = weir::http;
namespace io = weir::io;
namespace ws = weir::ws;

using steady = weir::clock::time_point;

double milliseconds(weir::clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

// A process that shares a schema with others.
class cluster_node {
public:
    static task<std::unique_ptr<cluster_node>> open(std::string schema, std::size_t workers) {
        postgres_store_options options;
        options.schema = schema;
        options.readers = 1;
        auto kept = co_await open_postgres_store(weir_test::shared_postgres().url(), options);
        co_return std::make_unique<cluster_node>(std::move(kept), workers);
    }
    cluster_node(std::unique_ptr<store> opened, std::size_t workers)
        : kept(std::move(opened)), tasks(*kept, options_of(workers)) {
        tasks.handle("note", [this](job& now) -> task<bj::value> {
            started[now.id()] = weir::now();
            co_return nullptr;
        });
        tasks.handle("sleep", [](job&) -> task<bj::value> {
            co_await weir::sleep(60s);
            co_return nullptr;
        });
        api.emplace(make_api(tasks, {}));
        io::listener door = io::listen(io::address::parse("127.0.0.1:0"));
        address = door.local_address().text();
        server_.emplace(http::handler([this](http::request& request) { return (*api)(request); }));
        serving_ = weir::spawn(server_->serve(std::move(door)));
        running_ = weir::spawn(tasks.run());
    }
    task<> stop() {
        running_.cancel();
        (void)co_await weir::settle(running_.wait());
        serving_.cancel();
        (void)co_await weir::settle(serving_.wait());
        api.reset();
        server_.reset();
        co_await kept->close();
    }
    task<bj::value> get(std::string target) {
        http::request request(http::method::get, target);
        request.headers().set("Host", "localhost");
        const http::response response = co_await (*api)(request);
        co_return http::parse_json(response.body().text(), {.max_depth = 64});
    }
    // The nodes that this one has heard of.
    task<std::size_t> known() {
        const std::vector<node_info> all = co_await tasks.nodes();
        co_return static_cast<std::size_t>(std::ranges::count(all, true, &node_info::is_alive));
    }

    std::unique_ptr<store> kept;
    service tasks;
    std::optional<http::router> api;
    std::string address;
    std::map<task_id, steady> started;

private:
    static service_options options_of(std::size_t workers) {
        service_options options;
        options.workers = workers;
        options.heartbeat = 3s;
        options.drain_limit = 100ms;
        return options;
    }

    std::optional<http::server> server_;
    weir::handle<void> serving_;
    weir::handle<void> running_;
};

task<> drop_schema(std::string schema) {
    weir::pg::connection server =
        co_await weir::pg::connect({.url = weir_test::shared_postgres().url()});
    co_await server.script("DROP SCHEMA IF EXISTS " + schema + " CASCADE");
}

// It has one worker, and a task that does not end.
task<std::unique_ptr<cluster_node>> open_busy(std::string schema) {
    auto opened = co_await cluster_node::open(schema, 1);
    co_await opened->tasks.submit(new_task("sleep"));
    while (opened->tasks.stats().running == 0) {
        co_await weir::sleep(2ms);
    }
    co_return opened;
}

task<> with_two_nodes(std::string schema, task<> (*body)(cluster_node&, cluster_node&)) {
    co_await drop_schema(schema);
    auto a = co_await open_busy(schema);
    auto b = co_await cluster_node::open(schema, 8);
    co_await weir::sleep(300ms);  // they hear of each other
    co_await body(*a, *b);
    co_await a->stop();
    co_await b->stop();
    co_await drop_schema(schema);
}

task<task_id> submit(cluster_node& at, std::string kind) {
    const submit_result made = co_await at.tasks.submit(new_task(kind));
    co_return made.id;
}

// From the submit at the busy node to the start at the other one.
task<std::vector<double>> start_delays(cluster_node& a, cluster_node& b, int count) {
    std::mt19937 random(1);
    std::vector<double> delays;
    for (int i = 0; i < count; ++i) {
        co_await weir::sleep(std::chrono::milliseconds(20 + random() % 100));
        const steady begun = weir::now();
        const task_id id = co_await submit(a, "note");
        while (!b.started.contains(id) && weir::now() < begun + 3s) {
            co_await weir::sleep(1ms);
        }
        EXPECT_TRUE(b.started.contains(id));
        EXPECT_FALSE(a.started.contains(id)) << "it has no free worker";
        delays.push_back(milliseconds(b.started[id] - begun));
    }
    std::ranges::sort(delays);
    co_return delays;
}

TEST(PostgresCluster, ATaskOfABusyNodeStartsOnAFreeOneAtOnce) {
    weir::run(with_two_nodes("wake_up", [](cluster_node& a, cluster_node& b) -> task<> {
        const std::vector<double> delays = co_await start_delays(a, b, 40);
        std::cout << "submit to start on another node: p50 " << delays[20] << " ms, p95 "
                  << delays[37] << " ms, most " << delays.back() << " ms\n";
        EXPECT_LT(delays[20], 150) << "the next look comes after 450 ms, in the mean";
    }));
}

TEST(PostgresCluster, WithoutMessagesATaskStartsAtTheNextLook) {
    const auto body = []() -> task<> {
        co_await drop_schema("no_wake_up");
        auto a = co_await open_busy("no_wake_up");
        weir::pg::connection server =
            co_await weir::pg::connect({.url = weir_test::shared_postgres().url()});
        // Now they use different channels.
        co_await server.query("UPDATE no_wake_up.meta SET value = 17 WHERE name = 'cluster'");
        auto b = co_await cluster_node::open("no_wake_up", 8);
        co_await weir::sleep(300ms);
        const std::vector<double> delays = co_await start_delays(*a, *b, 4);
        EXPECT_LT(delays.back(), 1200);
        co_await a->stop();
        co_await b->stop();
        co_await drop_schema("no_wake_up");
    };
    weir::run(body());
}

// The next message of that type; what comes before it is put into `skipped`.
task<bj::value> next(ws::connection& peer, std::string type) {
    for (;;) {
        const std::optional<ws::message> message = co_await weir::timeout(20s, peer.receive());
        if (!message) {
            throw std::runtime_error("closed while waiting for " + type);
        }
        bj::value heard = http::parse_json(message->text());
        if (heard.at("type").as_string() == type) {
            co_return heard;
        }
    }
}

TEST(PostgresCluster, EventsWaitsAndCancelsReachTheOtherNode) {
    weir::run(with_two_nodes("events", [](cluster_node& a, cluster_node& b) -> task<> {
        const auto watch = [&](ws::connection& peer) -> task<> {
            co_await next(peer, "subscribed");
            co_await weir::sleep(200ms);
            // b runs what b was given; a tells.
            std::vector<double> delays;
            for (int i = 0; i < 5; ++i) {
                co_await weir::sleep(150ms);
                const steady begun = weir::now();
                const task_id id = co_await submit(b, "note");
                for (bool is_seen = false; !is_seen;) {
                    const bj::value heard = co_await next(peer, "tasks");
                    for (const bj::value& each : heard.at("tasks").as_array()) {
                        is_seen = is_seen || (each.at("id").as_string() == id.text() &&
                                              each.at("state").as_string() == "completed");
                    }
                }
                delays.push_back(milliseconds(weir::now() - begun));
            }
            std::ranges::sort(delays);
            std::cout << "submit at b to its end seen at a: p50 " << delays[2] << " ms, most "
                      << delays.back() << " ms\n";
            EXPECT_LT(delays[2], 200);
        };
        co_await ws::with_connection("ws://" + a.address + "/events?topic=all", watch);

        // A request that waits at a for a task of b.
        new_task later("note");
        later.run_at = b.tasks.now() + 700ms;
        const submit_result made = co_await b.tasks.submit(std::move(later));
        const bj::value ended = co_await a.get("/tasks/" + made.id.text() + "?wait=10");
        EXPECT_EQ(ended.at("state").as_string(), "completed");
        EXPECT_LT(milliseconds(weir::now() - b.started[made.id]), 300);

        // A cancel at a of a task that b runs; the next heartbeat would come after three seconds.
        const task_id running = co_await submit(b, "sleep");
        for (bool is_running = false; !is_running;) {
            co_await weir::sleep(5ms);
            const auto found = co_await b.tasks.find(running);
            is_running = found->task.state == task_state::running;
        }
        const steady begun = weir::now();
        const change_result cancelled = co_await a.tasks.cancel(running);
        EXPECT_EQ(cancelled, change_result::requested);
        for (bool is_over = false; !is_over && weir::now() < begun + 5s;) {
            co_await weir::sleep(5ms);
            const auto found = co_await b.tasks.find(running);
            is_over = is_final(found->task.state);
        }
        EXPECT_LT(milliseconds(weir::now() - begun), 1000);

        const bj::value nodes = co_await a.get("/nodes");
        WEIR_ASSERT_EQ(nodes.at("nodes").as_array().size(), 2U);
        for (const bj::value& each : nodes.at("nodes").as_array()) {
            EXPECT_TRUE(each.at("heard_at").is_string());
        }
    }));
}

// The servers' processes of connections of that name.
task<std::vector<int>> processes(std::string name) {
    weir::pg::connection server =
        co_await weir::pg::connect({.url = weir_test::shared_postgres().url()});
    const weir::pg::rows found = co_await server.query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = $1 ORDER BY backend_start",
        name);
    co_return found.as<int>();
}

void signal_all(const std::vector<int>& all, int signal) {
    for (const int each : all) {
        ::kill(each, signal);
    }
}

TEST(PostgresCluster, AFrozenListenerHarmsNobodyAndSilenceIsTold) {
    weir::run(with_two_nodes("frozen", [](cluster_node& a, cluster_node& b) -> task<> {
        const auto watch = [&](ws::connection& peer) -> task<> {
            co_await next(peer, "subscribed");
            co_await weir::sleep(200ms);
            const std::vector<int> listeners = co_await processes("weir listener");
            const std::vector<int> senders = co_await processes("weir news");
            EXPECT_GE(listeners.size(), 2U);
            signal_all(listeners, SIGSTOP);
            signal_all(senders, SIGSTOP);
            std::vector<double> delays;
            for (int i = 0; i < 50; ++i) {
                const steady begun = weir::now();
                co_await submit(a, "note");
                delays.push_back(milliseconds(weir::now() - begun));
                co_await weir::sleep(10ms);
            }
            std::ranges::sort(delays);
            EXPECT_LT(delays[45], 200) << "submits wait for no message";
            // a was not told of b for so long that it may have missed something.
            const bj::value told = co_await next(peer, "subscribed");
            EXPECT_FALSE(told.at("is_known").as_bool());
            EXPECT_EQ(told.at("topic").as_string(), "all");
            signal_all(senders, SIGCONT);
            signal_all(listeners, SIGCONT);
            co_await weir::sleep(1500ms);
            const task_id id = co_await submit(b, "note");
            for (bool is_seen = false; !is_seen;) {
                const bj::value heard = co_await next(peer, "tasks");
                for (const bj::value& each : heard.at("tasks").as_array()) {
                    is_seen = is_seen || each.at("id").as_string() == id.text();
                }
            }
        };
        co_await ws::with_connection("ws://" + a.address + "/events?topic=all", watch);
    }));
}

// Two clusters in one database hear nothing of each other, and find each other's tasks nowhere.
TEST(PostgresCluster, TwoSchemasOfADatabaseAreTwoClusters) {
    const auto body = []() -> task<> {
        co_await drop_schema("one");
        co_await drop_schema("two");
        auto one = co_await cluster_node::open("one", 4);
        auto two = co_await cluster_node::open("two", 4);
        co_await weir::sleep(300ms);
        const std::size_t known = co_await one->known();
        EXPECT_EQ(known, 1U);
        const auto watch = [&](ws::connection& peer) -> task<> {
            co_await next(peer, "subscribed");
            co_await weir::sleep(200ms);
            const task_id other = co_await submit(*two, "note");
            co_await weir::sleep(300ms);
            EXPECT_TRUE(two->started.contains(other));
            const task_id own = co_await submit(*one, "note");
            const bj::value heard = co_await next(peer, "tasks");
            EXPECT_EQ(heard.at("tasks").at(0).at("id").as_string(), own.text());
            const bj::value ended = co_await one->get("/tasks/" + own.text() + "?wait=10");
            EXPECT_EQ(ended.at("state").as_string(), "completed");
        };
        co_await ws::with_connection("ws://" + one->address + "/events?topic=all", watch);
        const std::vector<queue_record> queues = co_await one->tasks.queues();
        WEIR_ASSERT_EQ(queues.size(), 1U);
        EXPECT_EQ(queues[0].count(task_state::completed), 1U);
        co_await one->stop();
        co_await two->stop();
        co_await drop_schema("one");
        co_await drop_schema("two");
    };
    weir::run(body());
}

}  // namespace
