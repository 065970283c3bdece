// SPDX-License-Identifier: MIT
// Errors of handlers become responses.

#include <weir/error.hpp>
#include <weir/http/request_id.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using http::method;
using http::request;
using http::response;
using http::status;

WEIR_TEST(Answered, ReportsUnknownErrors) {
    weir::testing::expect_report(report_kind::suppressed_error, "GET /x failed: a secret");
    http::handler app = http::with(
        http::request_ids(), [](request&) -> response { throw std::runtime_error("a secret"); });
    request incoming(method::get, "/x?password=1");
    const response answer = co_await app(incoming);
    EXPECT_EQ(answer.status(), status::internal_server_error);
    EXPECT_EQ(answer.body().text().find("secret"), std::string_view::npos);
}

}  // namespace
