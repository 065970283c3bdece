// SPDX-License-Identifier: MIT
// The headers traceparent and tracestate of a submit.

#include "support.hpp"

namespace {

using namespace api_test;

WEIR_TEST(ApiTraces, TasksKeepTheTraceOfTheirClient) {
    site at;
    co_await at.learn();
    const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const fields headers = {{"traceparent", parent}, {"tracestate", "a=b"}};
    const answer made = co_await at.post("/tasks", R"({"kind":"echo"})", headers);
    const answer shown = co_await at.get("/tasks/" + made["id"]);
    EXPECT_EQ(shown["traceparent"], parent);
    const fields bad_headers = {{"traceparent", "00-no"}};
    const answer ignored = co_await at.post("/tasks", R"({"kind":"echo"})", bad_headers);
    EXPECT_EQ(ignored.code, 202U);
    const answer without = co_await at.get("/tasks/" + ignored["id"]);
    EXPECT_EQ(without["traceparent"], "null");
    const answer refused = co_await at.ask(
        http::method::put, "/schedules/s",
        R"({"cron":"@daily","task":{"kind":"echo","traceparent":")" + parent + "\"}}");
    EXPECT_EQ(refused.code, 422U) << "each slot is a trace of its own";
    EXPECT_EQ(refused["member"], "task");
}

}  // namespace
