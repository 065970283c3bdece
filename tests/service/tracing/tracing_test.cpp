// SPDX-License-Identifier: MIT
// A trace from the client that submits, through the task, its runs and its delivery, to the server
// that receives it.

#include "collector.hpp"
#include <support/io.hpp>

#include <weir/http/client.hpp>
#include <weir/service/api.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/service/otlp_exporter.hpp>
#include <weir/service/service.hpp>
#include <weir/testing/testing.hpp>

#include <algorithm>

namespace {

using namespace tracing_test;
using namespace weir::service;

constexpr const char* client_trace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* client_span = "00f067aa0ba902b7";

std::string client_parent(bool is_sampled = true) {
    return std::string("00-") + client_trace + "-" + client_span + (is_sampled ? "-01" : "-00");
}

http::address_filter with_loopback() {
    http::address_filter filter = http::address_filter::public_only();
    filter.allow("127.0.0.0/8");
    return filter;
}

// A receiver of deliveries.
class receiver {
public:
    receiver() {
        io::listener listener = io::listen(io::address::loopback(0));
        url = "http://127.0.0.1:" + std::to_string(listener.local_address().port()) + "/hook?key=k";
        auto answer = [this](http::request& request) -> weir::task<http::response> {
            co_await request.text();
            parents.emplace_back(request.header("traceparent"));
            states.emplace_back(request.header("tracestate"));
            co_return http::response(parents.size() <= failures ? http::status::bad_gateway
                                                                : http::status::ok);
        };
        running_ = weir::spawn(http::serve(std::move(listener), std::move(answer)));
    }
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
    }

    std::string url;
    std::size_t failures = 0;  // of the first requests
    std::vector<std::string> parents;
    std::vector<std::string> states;

private:
    weir::handle<> running_;
};

// A service with its API, its deliveries and its exporter.
class traced_service {
public:
    explicit traced_service(const collector* to, double sample = 0)
        : exporter_(options_for(to)),
          tasks(store, service_options_for(to, sample)),
          delivery_({}, with_loopback()) {
        tasks.handle(
            "http", [this](job& job) { return delivery_.deliver(job); }, &http_delivery::check);
        tasks.handle("look", [this](job& job) -> weir::task<bj::value> {
            seen.push_back(job.trace());
            co_return nullptr;
        });
        tasks.handle("fail", [](job&) -> weir::task<bj::value> {
            throw permanent_failure("it broke");
            co_return nullptr;
        });
        io::listener listener = io::listen(io::address::loopback(0));
        url = "http://127.0.0.1:" + std::to_string(listener.local_address().port());
        web_ = weir::spawn(http::serve(std::move(listener), make_api(tasks)));
        running_ = weir::spawn(tasks.run());
        exporting_ = weir::spawn(exporter_.run());
    }
    weir::task<std::string> submit(std::string path, std::string body, std::string parent,
                                   std::string state = "") {
        http::client_request request(http::method::post, url + path);
        request.set_body(std::move(body), "application/json");
        if (!parent.empty()) {
            request.set_header("traceparent", parent);
        }
        if (!state.empty()) {
            request.set_header("tracestate", state);
        }
        http::client_response answer = co_await client_.send(std::move(request));
        const std::string text = co_await answer.text();
        EXPECT_TRUE(http::is_success(answer.status())) << text;
        co_return text;
    }
    weir::task<> until_ended(std::size_t count) {
        for (int i = 0; i < 2000 && ended() < count; ++i) {
            co_await weir::sleep(5ms);
        }
        EXPECT_GE(ended(), count);
    }
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
        exporting_.cancel();
        co_await exporting_.wait();
        web_.cancel();
        co_await web_.wait();
    }

private:
    static otlp_options options_for(const collector* to) {
        otlp_options options;
        options.endpoint = to != nullptr ? to->url() : "http://127.0.0.1:1";
        options.interval = 5ms;
        return options;
    }
    service_options service_options_for(const collector* to, double sample) {
        service_options options;
        options.tracing = {.sink = to != nullptr ? &exporter_ : nullptr, .sample = sample};
        return options;
    }
    std::size_t ended() const {
        const service_stats now = tasks.stats();
        return now.completed + now.dead + now.cancelled;
    }

    otlp_exporter exporter_;

public:
    memory_store store;
    weir::service::service tasks;
    std::string url;
    std::vector<trace_context> seen;

private:
    http_delivery delivery_;
    http::client client_;
    weir::handle<> web_;
    weir::handle<> running_;
    weir::handle<> exporting_;
};

WEIR_IO_TEST(Tracing, FollowsATaskFromItsClientToTheReceiver) {
    collector spans;
    receiver hooks;
    hooks.failures = 1;
    traced_service at(&spans);
    const std::string answer = co_await at.submit(
        "/tasks",
        R"({"kind":"http","queue":"q","backoff":0,"payload":{"url":")" + hooks.url + "\"}}",
        client_parent(), "vendor=1");
    co_await at.until_ended(1);
    co_await spans.wait_for(5);
    co_await at.stop();
    WEIR_ASSERT_EQ(spans.spans.size(), 5U);  // one submit, two runs, two requests
    for (const seen_span& each : spans.spans) {
        EXPECT_EQ(each.trace, client_trace);
        EXPECT_EQ(each.state, "vendor=1");
    }
    const seen_span* const submit = spans.find("submit http");
    WEIR_ASSERT_TRUE(submit != nullptr);
    EXPECT_EQ(submit->parent, client_span);
    EXPECT_EQ(submit->kind, 4);
    EXPECT_FALSE(submit->is_error);
    EXPECT_EQ(submit->attributes.at("messaging.destination.name"), "q");
    const std::string id = submit->attributes.at("messaging.message.id");
    EXPECT_NE(answer.find(id), std::string::npos);
    std::vector<const seen_span*> runs;
    std::vector<const seen_span*> requests;
    for (const seen_span& each : spans.spans) {
        if (each.name == "run http") {
            runs.push_back(&each);
        } else if (each.name == "POST") {
            requests.push_back(&each);
        }
    }
    WEIR_ASSERT_EQ(runs.size(), 2U);
    WEIR_ASSERT_EQ(requests.size(), 2U);
    WEIR_ASSERT_EQ(hooks.parents.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(runs[i]->parent, submit->id);
        EXPECT_EQ(runs[i]->kind, 5);
        EXPECT_EQ(runs[i]->attributes.at("messaging.message.id"), id);
        EXPECT_EQ(runs[i]->attributes.at("weir.task.kind"), "http");
        EXPECT_EQ(runs[i]->attributes.at("weir.task.attempt"), std::to_string(i + 1));
        EXPECT_EQ(runs[i]->attributes.at("weir.task.outcome"), i == 0 ? "retried" : "completed");
        EXPECT_EQ(runs[i]->is_error, i == 0);
        EXPECT_EQ(requests[i]->parent, runs[i]->id);
        EXPECT_EQ(requests[i]->kind, 3);
        EXPECT_EQ(requests[i]->is_error, i == 0);
        EXPECT_EQ(requests[i]->attributes.at("http.response.status_code"), i == 0 ? "502" : "200");
        EXPECT_EQ(requests[i]->attributes.at("url.full").find("key=k"), std::string::npos);
        EXPECT_EQ(hooks.parents[i],
                  std::string("00-") + client_trace + "-" + requests[i]->id + "-01");
        EXPECT_EQ(hooks.states[i], "vendor=1");
    }
    EXPECT_NE(runs[0]->error.find("502"), std::string::npos);
    co_await hooks.stop();
    co_await spans.stop();
}

WEIR_IO_TEST(Tracing, ABatchHasTracesOfItsOwn) {
    collector spans;
    traced_service at(&spans);
    const std::string other = "00-11111111111111111111111111111111-2222222222222222-01";
    co_await at.submit("/tasks/batch",
                       R"([{"kind":"look","traceparent":")" + other +
                           R"("},{"kind":"look","traceparent":"no"},{"kind":"look"}])",
                       client_parent());
    co_await at.until_ended(3);
    co_await spans.wait_for(6);
    co_await at.stop();
    EXPECT_EQ(std::ranges::count(spans.spans, client_trace, &seen_span::trace), 4);
    EXPECT_EQ(std::ranges::count(spans.spans, std::string(32, '1'), &seen_span::trace), 2);
    EXPECT_EQ(at.seen.size(), 3U);
    co_await spans.stop();
}

WEIR_IO_TEST(Tracing, OnlySampledTracesAreExported) {
    collector spans;
    receiver hooks;
    traced_service at(&spans);
    co_await at.submit("/tasks", R"({"kind":"http","payload":{"url":")" + hooks.url + "\"}}",
                       client_parent(false));
    co_await at.submit("/tasks", R"({"kind":"look"})", "");
    co_await at.submit("/tasks", R"({"kind":"look"})", "00-invalid");
    co_await at.until_ended(3);
    co_await at.stop();
    EXPECT_TRUE(spans.spans.empty());
    WEIR_ASSERT_EQ(hooks.parents.size(), 1U);
    EXPECT_TRUE(hooks.parents[0].starts_with(std::string("00-") + client_trace));
    EXPECT_TRUE(hooks.parents[0].ends_with("-00"));
    WEIR_ASSERT_EQ(at.seen.size(), 2U);
    EXPECT_FALSE(at.seen[0].is_set() || at.seen[1].is_set());
    co_await hooks.stop();
    co_await spans.stop();
}

WEIR_IO_TEST(Tracing, TasksWithoutATraceBeginOneAsTheSampleSays) {
    collector spans;
    traced_service at(&spans, 1);
    co_await at.submit("/tasks", R"({"kind":"fail"})", "");
    co_await at.until_ended(1);
    co_await spans.wait_for(2);
    co_await at.stop();
    const seen_span* const submit = spans.find("submit fail");
    const seen_span* const run = spans.find("run fail");
    WEIR_ASSERT_TRUE(submit != nullptr && run != nullptr);
    EXPECT_EQ(submit->parent, "");
    EXPECT_EQ(run->parent, submit->id);
    EXPECT_EQ(run->trace, submit->trace);
    EXPECT_TRUE(run->is_error);
    EXPECT_EQ(run->error, "it broke");
    EXPECT_EQ(run->attributes.at("weir.task.outcome"), "failed");
    co_await spans.stop();
}

WEIR_IO_TEST(Tracing, WithoutACollectorTheClientsContextIsPassedOn) {
    receiver hooks;
    traced_service at(nullptr, 1);
    co_await at.submit("/tasks",
                       R"({"kind":"http","on_success":")" + hooks.url + R"(","payload":{"url":")" +
                           hooks.url + "\"}}",
                       client_parent(), "vendor=1");
    co_await at.submit("/tasks", R"({"kind":"look"})", client_parent());
    co_await at.submit("/tasks", R"({"kind":"look"})", "");
    co_await at.until_ended(4);  // with the callback, which has the same trace
    co_await at.stop();
    EXPECT_EQ(hooks.parents, (std::vector<std::string>{client_parent(), client_parent()}));
    EXPECT_EQ(hooks.states, (std::vector<std::string>{"vendor=1", "vendor=1"}));
    WEIR_ASSERT_EQ(at.seen.size(), 2U);
    EXPECT_EQ(at.seen[0].traceparent(), client_parent());
    EXPECT_FALSE(at.seen[1].is_set());
    co_await hooks.stop();
}

WEIR_IO_TEST(Tracing, RefusedAndScheduledTasksHaveSpansToo) {
    collector spans;
    traced_service at(&spans, 1);
    queue_limits limits;
    limits.max_pending = 1;
    co_await at.tasks.limit("full", limits);
    co_await at.tasks.pause("full", true);
    new_task fresh("look");
    fresh.queue = "full";
    co_await at.tasks.submit(fresh);
    const submit_result refused = co_await at.tasks.submit(fresh);
    EXPECT_EQ(refused.what, submit_result::verdict::queue_full);
    schedule plan;
    plan.name = "often";
    plan.cron = "@every 1s";
    plan.task = new_task("look");
    co_await at.tasks.put_schedule(plan);
    co_await at.until_ended(1);
    co_await spans.wait_for(4);
    co_await at.stop();
    EXPECT_FALSE(spans.spans.at(0).is_error);
    EXPECT_TRUE(spans.spans.at(1).is_error);
    const seen_span* const run = spans.find("run look");
    WEIR_ASSERT_TRUE(run != nullptr);
    EXPECT_NE(run->parent, "");
    co_await spans.stop();
}

}  // namespace
