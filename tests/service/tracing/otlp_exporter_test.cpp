// SPDX-License-Identifier: MIT
// Batches, a full buffer, and collectors that are down, busy or refuse.

#include "collector.hpp"
#include <support/io.hpp>

#include <weir/error.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/service/otlp_exporter.hpp>
#include <weir/testing/testing.hpp>

namespace {

using namespace tracing_test;
using weir::service::otlp_exporter;
using weir::service::otlp_options;
using weir::service::span;
using weir::service::span_kind;
using weir::service::timestamp;
using weir::service::trace_context;

otlp_options quick(const std::string& endpoint) {
    otlp_options options;
    options.endpoint = endpoint;
    options.interval = 5ms;
    options.initial_delay = 5ms;
    options.max_delay = 20ms;
    return options;
}

span make_span(std::string name) {
    span made;
    made.context =
        *trace_context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=b");
    made.parent_id[7] = 9;
    made.name = std::move(name);
    made.kind = span_kind::client;
    made.started_at = timestamp(std::chrono::seconds(1'790'000'000));
    made.ended_at = made.started_at + 2us;
    made.attributes = {{"text", "ä \"b\""}, {"number", std::int64_t{-7}}};
    made.is_error = true;
    made.error = "it broke";
    return made;
}

WEIR_IO_TEST(OtlpExporter, SendsSpans) {
    collector to;
    otlp_options options = quick(to.url() + "/");
    options.service_name = "mine";
    otlp_exporter exporter(options);
    const weir::handle<> running = weir::spawn(exporter.run());
    exporter.record(make_span("one"));
    co_await to.wait_for(1);
    WEIR_ASSERT_EQ(to.spans.size(), 1U);
    const seen_span& seen = to.spans[0];
    EXPECT_EQ(seen.trace, "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(seen.id, "00f067aa0ba902b7");
    EXPECT_EQ(seen.parent, "0000000000000009");
    EXPECT_EQ(seen.name, "one");
    EXPECT_EQ(seen.state, "a=b");
    EXPECT_EQ(seen.kind, 3);
    EXPECT_EQ(seen.nanoseconds, 2000U);
    EXPECT_TRUE(seen.is_error);
    EXPECT_EQ(seen.error, "it broke");
    EXPECT_EQ(seen.attributes.at("text"), "ä \"b\"");
    EXPECT_EQ(seen.attributes.at("number"), "-7");
    EXPECT_EQ(to.service_name, "mine");
    running.cancel();
    co_await running.wait();
    co_await to.stop();
}

WEIR_IO_TEST(OtlpExporter, SendsBatchesAndTheRestWhenItIsStopped) {
    collector to;
    otlp_options options = quick(to.url());
    options.interval = 1h;  // only full batches
    options.max_batch = 10;
    otlp_exporter exporter(options);
    const weir::handle<> running = weir::spawn(exporter.run());
    co_await weir::sleep(1ms);
    for (int i = 0; i < 25; ++i) {
        exporter.record(make_span(std::to_string(i)));
    }
    co_await to.wait_for(20);
    EXPECT_EQ(to.batches, (std::vector<std::size_t>{10, 10}));
    running.cancel();
    co_await running.wait();
    EXPECT_EQ(to.spans.size(), 25U);
    EXPECT_EQ(exporter.stats().exported, 25U);
    EXPECT_EQ(exporter.stats().buffered, 0U);
    co_await to.stop();
}

WEIR_IO_TEST(OtlpExporter, RetriesABusyCollector) {
    collector to;
    to.status = http::status::service_unavailable;
    otlp_exporter exporter(quick(to.url()));
    const weir::handle<> running = weir::spawn(exporter.run());
    exporter.record(make_span("one"));
    while (to.requests < 3) {
        co_await weir::sleep(1ms);
    }
    to.status = http::status::ok;
    co_await to.wait_for(1);
    running.cancel();
    co_await running.wait();
    EXPECT_EQ(to.spans.size(), 1U);
    EXPECT_GE(exporter.stats().failures, 3U);
    EXPECT_EQ(exporter.stats().exported, 1U);
    EXPECT_EQ(exporter.stats().dropped, 0U);
    co_await to.stop();
}

// The port of a collector that has been stopped refuses connections.
WEIR_IO_TEST(OtlpExporter, DropsWhatAFullBufferCannotTake) {
    collector gone;
    const std::string url = gone.url();
    co_await gone.stop();
    std::vector<std::string> log;
    otlp_options options = quick(url);
    options.max_batch = 4;
    options.max_buffered = 10;
    options.log = [&log](std::string_view line) { log.emplace_back(line); };
    otlp_exporter exporter(options);
    const weir::handle<> running = weir::spawn(exporter.run());
    for (int i = 0; i < 25; ++i) {
        exporter.record(make_span(std::to_string(i)));
    }
    while (exporter.stats().failures < 3) {
        co_await weir::sleep(1ms);
    }
    EXPECT_EQ(exporter.stats().dropped, 15U);
    EXPECT_EQ(exporter.stats().buffered, 10U);
    EXPECT_EQ(log.size(), 1U) << "one line for all failures";
    EXPECT_NE(log.at(0).find(url), std::string::npos);
    running.cancel();
    co_await running.wait();  // which does not wait for the collector
}

WEIR_IO_TEST(OtlpExporter, DropsWhatTheCollectorRefuses) {
    collector to;
    to.status = http::status::bad_request;
    otlp_exporter exporter(quick(to.url()));
    const weir::handle<> running = weir::spawn(exporter.run());
    exporter.record(make_span("bad"));
    while (exporter.stats().dropped == 0) {
        co_await weir::sleep(1ms);
    }
    to.status = http::status::ok;
    exporter.record(make_span("good"));
    co_await to.wait_for(1);
    EXPECT_EQ(to.spans.at(0).name, "good");
    running.cancel();
    co_await running.wait();
    co_await to.stop();
}

WEIR_IO_TEST(OtlpExporter, WaitsAsLongAsTheCollectorAsks) {
    collector to;
    to.status = http::status::too_many_requests;
    to.retry_after = "60";
    otlp_exporter exporter(quick(to.url()));
    const weir::handle<> running = weir::spawn(exporter.run());
    exporter.record(make_span("one"));
    while (to.requests == 0) {
        co_await weir::sleep(1ms);
    }
    co_await weir::sleep(100ms);
    EXPECT_EQ(to.requests, 1);
    to.status = http::status::ok;
    running.cancel();
    co_await running.wait();
    EXPECT_EQ(to.spans.size(), 1U) << "the last chance does not wait";
    co_await to.stop();
}

TEST(OtlpExporterOptions, AreChecked) {
    for (const char* const bad : {"", "collector", "ftp://127.0.0.1"}) {
        otlp_options options;
        options.endpoint = bad;
        EXPECT_THROW(otlp_exporter{options}, weir::invalid_argument) << bad;
    }
    otlp_options options;
    options.endpoint = "http://127.0.0.1:4318";
    EXPECT_NO_THROW(otlp_exporter{options});
    options.max_batch = 0;
    EXPECT_THROW(otlp_exporter{options}, weir::invalid_argument);
    options.max_batch = options.max_buffered + 1;
    EXPECT_THROW(otlp_exporter{options}, weir::invalid_argument);
    options.max_batch = 1;
    options.interval = {};
    EXPECT_THROW(otlp_exporter{options}, weir::invalid_argument);
}

}  // namespace
