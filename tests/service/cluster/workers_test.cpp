// SPDX-License-Identifier: MIT
// One session of a worker, whose requests reach two services in turns, as behind a load balancer
// that keeps no sessions: over HTTP, on one schema of a real server.

#include <support/peers/postgres.hpp>

#include <weir/db/pg/connection.hpp>
#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/service/api.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/service.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace weir::service;
using weir::task;
namespace bj = boost::json;
namespace http = weir::http;
namespace io = weir::io;

struct reply {
    unsigned status = 0;
    bj::value value;

    const bj::array& tasks() const { return value.at("tasks").as_array(); }
};

// A process with its own connections, memory and port.
class live_service {
public:
    static task<std::unique_ptr<live_service>> open(std::string schema) {
        postgres_store_options options;
        options.schema = schema;
        options.readers = 1;
        auto kept = co_await open_postgres_store(weir_test::shared_postgres().url(), options);
        co_return std::make_unique<live_service>(std::move(kept));
    }
    explicit live_service(std::unique_ptr<store> opened)
        : kept_(std::move(opened)), tasks_(*kept_, options()) {
        app_.emplace(make_api(tasks_));
        io::listener door = io::listen(io::address::parse("127.0.0.1:0"));
        url_ = "http://" + door.local_address().text();
        server_.emplace(http::handler([this](http::request& request) { return (*app_)(request); }));
        serving_ = weir::spawn(server_->serve(std::move(door)));
        running_ = weir::spawn(tasks_.run());
    }
    task<> stop() {
        running_.cancel();
        (void)co_await weir::settle(running_.wait());
        serving_.cancel();
        (void)co_await weir::settle(serving_.wait());
        app_.reset();
        server_.reset();
        co_await kept_->close();
    }
    task<reply> ask(http::method verb, std::string path, bj::value body = nullptr) {
        http::client_request request(verb, url_ + path);
        if (!body.is_null()) {
            request.set_body(bj::serialize(body), "application/json");
        }
        http::client_response response = co_await client_.send(std::move(request));
        reply received;
        received.status = number_of(response.status());
        const std::string text = co_await response.text();
        if (!text.empty()) {
            received.value = http::parse_json(text, {.max_depth = 64});
        }
        EXPECT_LT(received.status, 500U) << path << " " << text;
        co_return received;
    }

private:
    static service_options options() {
        service_options settings;
        settings.heartbeat = 3s;
        settings.drain_limit = 100ms;
        settings.remote_kinds = {"resize"};
        return settings;
    }

    std::unique_ptr<store> kept_;
    service tasks_;
    std::optional<http::router> app_;
    std::optional<http::server> server_;
    std::string url_;
    http::client client_;
    weir::handle<void> serving_;
    weir::handle<void> running_;
};

// Each request goes to the service that did not get the one before.
class balanced {
public:
    balanced(live_service& a, live_service& b) : services_{&a, &b} {}

    task<reply> ask(http::method verb, std::string path, bj::value body = nullptr) {
        return services_[turn_++ % 2]->ask(verb, std::move(path), std::move(body));
    }
    task<reply> post(std::string path, bj::value body = bj::object()) {
        return ask(http::method::post, std::move(path), std::move(body));
    }
    task<bj::value> get(std::string path) {
        reply received = co_await ask(http::method::get, std::move(path));
        co_return std::move(received.value);
    }
    task<std::string> submit() {
        bj::object task;
        task["kind"] = "resize";
        const reply made = co_await post("/tasks", std::move(task));
        EXPECT_EQ(made.status, 202U) << bj::serialize(made.value);
        co_return std::string(made.value.at("id").as_string());
    }

private:
    live_service* services_[2];
    std::size_t turn_ = 0;
};

class session {
public:
    explicit session(balanced& services) : services_(services) {}

    task<> begin() {
        bj::object worker;
        worker["kinds"] = bj::array{"resize"};
        const reply made = co_await services_.post("/workers", std::move(worker));
        EXPECT_EQ(made.status, 201U) << bj::serialize(made.value);
        path_ = "/workers/" + std::string(made.value.at("worker").as_string());
    }
    task<reply> call(std::string what, bj::value body = bj::object()) {
        return services_.post(path_ + "/" + what, std::move(body));
    }
    task<reply> poll(int free, double wait = 0) {
        ++number;
        return repeat(free, wait);
    }
    // The next tasks. News end a poll, and a service may keep some that the other one has told.
    task<reply> take() {
        for (int i = 0; i < 4; ++i) {
            reply polled = co_await poll(1, 20);
            if (polled.status == 200) {
                co_return polled;
            }
            EXPECT_EQ(polled.status, 204U);
        }
        throw std::runtime_error("no poll has tasks");
    }
    task<reply> repeat(int free, double wait = 0) {
        return call("poll", {{"poll", number}, {"free", free}, {"wait", wait}});
    }
    // With that run, or nothing.
    task<reply> beat(bj::object run = {}) {
        bj::array running;
        if (!run.empty()) {
            running.emplace_back(std::move(run));
        }
        bj::object heartbeat;
        heartbeat["free"] = 1;
        heartbeat["running"] = std::move(running);
        return call("heartbeat", std::move(heartbeat));
    }
    task<reply> report(bj::object run, std::string outcome) {
        run["outcome"] = outcome;
        bj::array results;
        results.emplace_back(std::move(run));
        return call("results", std::move(results));
    }
    task<reply> end() { return services_.ask(http::method::delete_, path_); }

    int number = 0;

private:
    balanced& services_;
    std::string path_;
};

bj::object run_of(const reply& polled, std::size_t index = 0) {
    const bj::value& task = polled.tasks().at(index);
    return {{"id", task.at("id")}, {"run", task.at("run")}};
}

bool lists(const bj::value& runs, const std::string& id) {
    return std::ranges::any_of(
        runs.as_array(), [&](const bj::value& run) { return run.at("id").as_string() == id; });
}

task<> with_two_services(std::string schema, task<> (*body)(balanced&, session&)) {
    weir::pg::connection server =
        co_await weir::pg::connect({.url = weir_test::shared_postgres().url()});
    co_await server.script("DROP SCHEMA IF EXISTS " + schema + " CASCADE");
    auto a = co_await live_service::open(schema);
    auto b = co_await live_service::open(schema);
    balanced services(*a, *b);
    session worker(services);
    co_await worker.begin();
    co_await body(services, worker);
    co_await a->stop();
    co_await b->stop();
    co_await server.script("DROP SCHEMA IF EXISTS " + schema + " CASCADE");
    server.close();
}

}  // namespace

TEST(ClusterWorkers, ASessionIsThatOfEveryService) {
    weir::run(with_two_services("session_moves", [](balanced& services, session& worker) -> task<> {
        for (int i = 0; i < 10; ++i) {
            const std::string id = co_await services.submit();
            const reply polled = co_await worker.take();
            const bj::object run = run_of(polled);
            EXPECT_EQ(run.at("id").as_string(), id);
            const reply beat = co_await worker.beat(run);
            EXPECT_EQ(beat.value.at("lost").as_array().size(), 0U);
            for (int again = 0; again < 2; ++again) {  // the same again is true again, anywhere
                const reply verdicts = co_await worker.report(run, "completed");
                EXPECT_TRUE(verdicts.value.at(0).at("accepted").as_bool())
                    << bj::serialize(verdicts.value);
            }
            if (i % 2 == 0) {
                co_await worker.beat();  // so that each kind of request reaches both
            }
            const bj::value ended = co_await services.get("/tasks/" + id);
            EXPECT_EQ(ended.at("status"), "completed");
            EXPECT_EQ(ended.at("attempts").as_array().size(), 0U);
        }
    }));
}

// Failures 15 and 18: a poll is half-open at one service, or its answer is lost, and the worker
// repeats it at the other one.
TEST(ClusterWorkers, PeerFailure15_APollIsRepeatedAtAnotherService) {
    weir::run(with_two_services("poll_moves", [](balanced& services, session& worker) -> task<> {
        co_await services.submit();
        co_await services.submit();
        const reply lost = co_await worker.poll(1);
        WEIR_ASSERT_EQ(lost.status, 200U);
        const reply again = co_await worker.repeat(1);
        WEIR_ASSERT_EQ(again.status, 200U);
        EXPECT_EQ(again.tasks().size(), 1U) << "no more than has room";
        EXPECT_EQ(run_of(again), run_of(lost));
        // The next number, and the former one late at the other service: it claims nothing.
        const reply next = co_await worker.poll(1);
        WEIR_ASSERT_EQ(next.status, 200U);
        EXPECT_NE(run_of(next), run_of(lost));
        const std::string third = co_await services.submit();
        co_await services.get("/healthz");
        worker.number -= 1;
        const reply late = co_await worker.repeat(1);
        EXPECT_NE(late.status, 200U) << bj::serialize(late.value);
        worker.number += 1;
        co_await worker.report(run_of(lost), "completed");
        co_await worker.report(run_of(next), "completed");
        const reply last = co_await worker.take();
        EXPECT_EQ(run_of(last).at("id").as_string(), third);
        co_await worker.report(run_of(last), "completed");
        // One poll waits at each service under one number: a task is claimed once.
        worker.number += 1;
        const auto first = weir::spawn(worker.repeat(1, 3));
        const auto second = weir::spawn(worker.repeat(1, 3));
        co_await weir::sleep(200ms);
        co_await services.submit();
        co_await services.submit();
        const reply one = co_await first;
        const reply two = co_await second;
        WEIR_ASSERT_TRUE(one.status == 200 || two.status == 200);
        if (one.status == 200 && two.status == 200) {
            EXPECT_EQ(run_of(one), run_of(two));
        }
        const bj::value listed = co_await services.get("/tasks?state=running");
        EXPECT_EQ(listed.at("tasks").as_array().size(), 1U) << bj::serialize(listed);
    }));
}

TEST(ClusterWorkers, CancelsAndDrainsReachTheWorkerAtAnotherService) {
    weir::run(with_two_services("news_move", [](balanced& services, session& worker) -> task<> {
        for (int i = 0; i < 2; ++i) {
            const std::string id = co_await services.submit();
            const reply polled = co_await worker.take();
            const bj::object run = run_of(polled);
            const reply cancelled = co_await services.post("/tasks/" + id + "/cancel");
            EXPECT_LT(cancelled.status, 300U);
            const reply beat = co_await worker.beat(run);
            EXPECT_TRUE(lists(beat.value.at("cancel"), id)) << bj::serialize(beat.value);
            const reply verdicts = co_await worker.report(run, "cancelled");
            EXPECT_TRUE(verdicts.value.at(0).at("accepted").as_bool());
            const bj::value ended = co_await services.get("/tasks/" + id);
            EXPECT_EQ(ended.at("status"), "cancelled");
            co_await services.get("/healthz");  // the other way round
        }
        const std::string held = co_await services.submit();
        const reply polled = co_await worker.take();
        const auto waiting = weir::spawn(worker.poll(1, 4));
        co_await weir::sleep(100ms);
        const reply drained = co_await worker.call("drain");
        EXPECT_LT(drained.status, 300U);
        const std::string later = co_await services.submit();
        for (int i = 0; i < 2; ++i) {
            const reply beat = co_await worker.beat(run_of(polled));
            EXPECT_EQ(beat.value.at("state"), "drain") << "it ends with its session only";
        }
        const reply ended = co_await waiting;
        EXPECT_EQ(ended.status, 204U) << bj::serialize(ended.value);
        const reply empty = co_await worker.poll(1);
        EXPECT_EQ(empty.status, 204U);
        const reply verdicts = co_await worker.report(run_of(polled), "completed");
        EXPECT_TRUE(verdicts.value.at(0).at("accepted").as_bool());
        const bj::value done = co_await services.get("/tasks/" + held);
        EXPECT_EQ(done.at("status"), "completed");
        const bj::value waits = co_await services.get("/tasks/" + later);
        EXPECT_EQ(waits.at("state"), "pending");
    }));
}

TEST(ClusterWorkers, AnEndedSessionIsOverAtEveryService) {
    weir::run(with_two_services("session_ends", [](balanced& services, session& worker) -> task<> {
        const std::string id = co_await services.submit();
        const reply polled = co_await worker.take();
        const auto waiting = weir::spawn(worker.poll(1, 4));
        co_await weir::sleep(100ms);
        const reply ended = co_await worker.end();
        EXPECT_LT(ended.status, 300U);
        const reply unanswered = co_await waiting;
        EXPECT_NE(unanswered.status, 200U) << bj::serialize(unanswered.value);
        for (int i = 0; i < 2; ++i) {
            const reply beat = co_await worker.beat(run_of(polled));
            EXPECT_EQ(beat.status, 410U);
        }
        for (int i = 0; i < 2; ++i) {
            const reply late = co_await worker.poll(1);
            EXPECT_EQ(late.status, 410U);
        }
        const reply refused = co_await worker.report(run_of(polled), "completed");
        EXPECT_FALSE(refused.value.at(0).at("accepted").as_bool()) << bj::serialize(refused.value);
        session other(services);
        co_await other.begin();
        const reply given = co_await other.take();
        EXPECT_EQ(given.tasks().at(0).at("id").as_string(), id);
        EXPECT_EQ(given.tasks().at(0).at("attempt"), 1) << "given back unspent";
        EXPECT_NE(run_of(given), run_of(polled));
    }));
}
