// SPDX-License-Identifier: MIT
// GET /metrics: the format, the metrics of queues and of the process.

#include "support.hpp"
#include <support/metrics_page.hpp>

#include <string>

namespace {

using namespace api_test;
using namespace std::chrono_literals;

bool has_line(const answer& page, const std::string& line) {
    return page.text.find("\n" + line + "\n") != std::string::npos;
}

WEIR_TEST(Metrics, ThePageIsValid) {
    site here;
    here.tasks.handle(
        "call", [](job&) -> weir::task<boost::json::value> { co_return nullptr; }, {},
        {.name_of = [](const boost::json::value&) { return std::string("http://a.example"); }});
    here.start();
    co_await here.submit(R"({"kind": "echo", "queue": "a \"b\" {le=\"1\"} \\"})");
    co_await here.submit(R"({"kind": "fail", "max_attempts": 2, "queue": "ö"})");
    co_await here.submit(R"({"kind": "call"})");
    co_await weir::sleep(1min);
    const answer page = co_await here.get("/metrics");
    const weir_test::metrics_page checked(page.text);
    EXPECT_EQ(checked.problem(), "") << page.text;
    for (const std::string name :
         {"weir_task_wait_seconds", "weir_task_run_seconds", "weir_task_started_total",
          "weir_task_completed_total", "weir_task_failed_total", "weir_task_retried_total",
          "weir_task_cancelled_total", "weir_service_oldest_due_age_seconds",
          "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
          "process_max_fds", "process_start_time_seconds", "weir_service_destination_due"}) {
        EXPECT_TRUE(checked.families().contains(name)) << name;
    }
    EXPECT_TRUE(has_line(page, "weir_task_completed_total{queue=\"default\",kind=\"call\"} 1"));
    EXPECT_TRUE(has_line(page, "weir_task_failed_total{queue=\"ö\",kind=\"fail\"} 1"));
    co_await here.stop();
}

WEIR_TEST(Metrics, TheCheckFindsWhatIsWrong) {
    for (const std::string wrong :
         {"# HELP a b\n# TYPE a counter\na 1\n", "# HELP a_total b\n# TYPE a_total gauge\n",
          "# TYPE a gauge\na 1\n", "# HELP a b\n# TYPE a gauge\nb 1\n",
          "# HELP a b\n# TYPE a gauge\na 1\na 2\n", "# HELP a b\n# TYPE a gauge\na one\n",
          "# HELP a b\n# TYPE a gauge\na 1\n# HELP a b\n# TYPE a gauge\n", "a 1\n", "\n",
          "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n",
          "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum "
          "1\na_count 1\n",
          "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 2\na_sum "
          "1\na_count 1\n",
          "# HELP a b\n# TYPE a histogram\na_bucket{x=\"y\",le=\"+Inf\"} 2\na_count{x=\"y\"} 2\n",
          "# HELP a b\n# TYPE a gauge\na 1"}) {
        EXPECT_NE(weir_test::complaint_about(wrong), "") << wrong;
    }
    EXPECT_EQ(weir_test::complaint_about(
                  "# HELP a b\n# TYPE a histogram\na_bucket{x=\"y\",le=\"1\"} 1\n"
                  "a_bucket{x=\"y\",le=\"+Inf\"} 2\na_sum{x=\"y\"} 3\na_count{x=\"y\"} 2\n"),
              "");
    co_return;
}

// The store is asked at most once a second; in between the age grows all the same.
WEIR_TEST(Metrics, HasTheAgeOfTheOldestDueTask) {
    site here;
    int calls = 0;
    here.store.on_call([&](store_call which) {
        calls += which == store_call::oldest_due ? 1 : 0;
        return store_fault::none;
    });
    const std::string name = "weir_service_oldest_due_age_seconds{queue=\"";
    co_await here.submit(R"({"kind": "echo", "queue": "old"})");  // nothing runs yet
    co_await here.submit(R"({"kind": "echo", "queue": "new", "delay": 60})");
    co_await weir::sleep(90s);
    const answer waiting = co_await here.get("/metrics");
    EXPECT_TRUE(has_line(waiting, name + "old\"} 90")) << waiting.text;
    EXPECT_TRUE(has_line(waiting, name + "new\"} 30")) << waiting.text;
    EXPECT_EQ(calls, 1);
    co_await weir::sleep(500ms);
    const answer soon = co_await here.get("/metrics");
    EXPECT_TRUE(has_line(soon, name + "old\"} 90.5")) << soon.text;
    EXPECT_EQ(calls, 1);
    here.start();
    co_await weir::sleep(5s);
    const answer done = co_await here.get("/metrics");
    EXPECT_TRUE(has_line(done, name + "old\"} 0")) << done.text;
    EXPECT_TRUE(has_line(done, name + "new\"} 0")) << done.text;
    EXPECT_EQ(calls, 2);
    co_await here.stop();
}

}  // namespace
