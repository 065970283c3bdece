// SPDX-License-Identifier: MIT
// weir serve --otlp-endpoint: the spans of its tasks reach the collector, the last ones on
// shutdown.

#include "commands.hpp"
#include "service/tracing/collector.hpp"

#include <weir/run.hpp>

#include <atomic>
#include <future>
#include <thread>

namespace weir_test {
namespace {

// A collector on a thread of its own: the commands of a test block.
class collector_thread {
public:
    collector_thread() : thread_([this] { weir::run(serve()); }), url(url_.get_future().get()) {}
    collector_thread(const collector_thread&) = delete;
    ~collector_thread() { stop(); }
    // The spans that it was sent.
    std::vector<tracing_test::seen_span> stop() {
        is_done_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
        return spans_;
    }

private:
    weir::task<> serve() {
        tracing_test::collector all;
        url_.set_value(all.url());
        while (!is_done_) {
            co_await weir::sleep(std::chrono::milliseconds(2));
        }
        spans_ = all.spans;
        co_await all.stop();
    }

    std::promise<std::string> url_;
    std::atomic<bool> is_done_ = false;
    std::vector<tracing_test::seen_span> spans_;
    std::thread thread_;

public:
    const std::string url;
};

TEST(Traces, ReachTheCollector) {
    collector_thread collector;
    serving here({"--otlp-sample", "1", "--drain", "0.1"},
                 {"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.url, "OTEL_SERVICE_NAME=mine"});
    const std::string id = submit(here, {"echo", "1", "--wait"});
    const program_output shown = here.ask("show", {id, "--json"});
    EXPECT_TRUE(has(shown.out, R"("traceparent":"00-)")) << shown.out;
    EXPECT_EQ(here.end(), 0);
    const std::vector<tracing_test::seen_span> spans = collector.stop();
    ASSERT_EQ(spans.size(), 2U);
    EXPECT_EQ(spans[0].name, "submit echo");
    EXPECT_EQ(spans[1].name, "run echo");
    EXPECT_EQ(spans[1].parent, spans[0].id);
    EXPECT_EQ(spans[1].attributes.at("messaging.message.id"), id);
}

// A collector that is down changes nothing but the metrics.
TEST(Traces, DoNotHoldUpTheService) {
    serving here({"--otlp-endpoint", "http://127.0.0.1:1", "--otlp-sample", "1", "--drain", "0.1"});
    EXPECT_EQ(here.ask("submit", {"echo", "1", "--wait"}).code, 0);
    here.wait_until([&] { return has(here.err(), "traces cannot be exported"); });
    EXPECT_EQ(here.end(), 0);
}

}  // namespace
}  // namespace weir_test
