// SPDX-License-Identifier: MIT
// Errors as application/problem+json.

#include <weir/error.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/response.hpp>
#include <weir/refusal.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using http::status;

template <class Error>
http::response answer_to(const Error& error) {
    return http::to_response(std::make_exception_ptr(error));
}

TEST(Problem, IsADocument) {
    http::problem_details details(status::conflict);
    EXPECT_EQ(details.json(), "{\"title\":\"Conflict\",\"status\":409}\n");
    details.type("https://example.com/stock")
        .title("Out of stock")
        .detail("3 \"left\"\n")
        .instance("/orders/7")
        .member("left", 3)
        .member("largest", UINT64_MAX)
        .member("least", INT64_MIN)
        .member("can_wait", true)
        .member("name", "caf\xc3\xa9")
        .json_member("list", "[1,2]")
        .member("left", 4);
    EXPECT_EQ(details.json(),
              "{\"type\":\"https://example.com/stock\",\"title\":\"Out of stock\",\"status\":409,"
              "\"detail\":\"3 \\\"left\\\"\\n\",\"instance\":\"/orders/7\",\"left\":4,"
              "\"largest\":18446744073709551615,\"least\":-9223372036854775808,\"can_wait\":true,"
              "\"name\":\"caf\xc3\xa9\",\"list\":[1,2]}\n");
    details.header("Retry-After", "7");
    const http::response answer = details.to_response();
    EXPECT_EQ(answer.status(), status::conflict);
    EXPECT_EQ(answer.content_type(), "application/problem+json");
    EXPECT_EQ(answer.header("Retry-After"), "7");
    EXPECT_EQ(answer.body().text(), details.json());
    EXPECT_THROW(details.member("status", 1), invalid_argument);
    EXPECT_THROW(details.header("A", "b\r\nc: d"), invalid_argument);
    // A status that has no name.
    EXPECT_EQ(http::response::problem(static_cast<status>(499)).body().text(),
              "{\"title\":\"Problem\",\"status\":499}\n");
}

TEST(Problem, IsValidUtf8WhateverIsSaid) {
    const struct {
        std::string_view detail;
        std::string_view shown;
    } cases[] = {
        {"\xff", "\\ufffd"},
        {"a\x80z", "a\\ufffdz"},
        {"\xc3", "\\ufffd"},
        {"\xc0\xaf", "\\ufffd\\ufffd"},
        {"\xe0\x80\x80", "\\ufffd\\ufffd\\ufffd"},
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xe2\x82\xac", "\xe2\x82\xac"},
        {"\x7f\x01\\", "\\u007f\\u0001\\\\"},
    };
    for (const auto& each : cases) {
        EXPECT_EQ(http::response::problem(status::not_found, each.detail).body().text(),
                  "{\"title\":\"Not Found\",\"status\":404,\"detail\":\"" +
                      std::string(each.shown) + "\"}\n");
    }
}

TEST(Problem, IsWhatErrorsBecome) {
    const http::response known = answer_to(http::problem(status::gone, "it was here"));
    EXPECT_EQ(known.status(), status::gone);
    EXPECT_NE(known.body().text().find("it was here"), std::string_view::npos);
    EXPECT_EQ(answer_to(http::protocol_error(status::bad_request, "x")).status(),
              status::bad_request);

    http::problem_details details(status::forbidden);
    details.member("why", "night").header("X-More", "yes");
    const http::response detailed = answer_to(http::detailed_problem(details));
    EXPECT_EQ(detailed.status(), status::forbidden);
    EXPECT_EQ(detailed.header("X-More"), "yes");
    EXPECT_NE(detailed.body().text().find("\"why\":\"night\""), std::string_view::npos);

    const http::response refused = answer_to(
        weir::refused({.reason = refusal_reason::circuit_open, .retry_after = 1001ms}, "secret"));
    EXPECT_EQ(refused.status(), status::service_unavailable);
    EXPECT_EQ(refused.header("Retry-After"), "2");
    EXPECT_EQ(refused.body().text().find("secret"), std::string_view::npos);
    const http::response for_ever =
        answer_to(weir::refused({.reason = {}, .retry_after = refusal::never}));
    EXPECT_FALSE(for_ever.headers().contains("Retry-After"));

    EXPECT_EQ(answer_to(timed_out()).status(), status::gateway_timeout);
    EXPECT_EQ(answer_to(cancelled("why")).status(), status::service_unavailable);

    const http::response unknown = answer_to(std::runtime_error("password 1234"));
    EXPECT_EQ(unknown.status(), status::internal_server_error);
    EXPECT_EQ(unknown.body().text(), "{\"title\":\"Internal Server Error\",\"status\":500}\n");
    EXPECT_EQ(answer_to(7).status(), status::internal_server_error);
    EXPECT_EQ(http::to_response(nullptr).status(), status::internal_server_error);
}

TEST(Problem, IsFoundInGroups) {
    const auto some = std::make_exception_ptr(std::runtime_error("some"));
    const auto late = std::make_exception_ptr(timed_out());
    const auto full =
        std::make_exception_ptr(refused({.reason = refusal_reason::queue_full, .retry_after = {}}));
    const auto gone = std::make_exception_ptr(http::problem(status::gone, "x"));
    EXPECT_EQ(answer_to(error_group({some, late, full, gone})).status(), status::gone);
    EXPECT_EQ(answer_to(error_group({some, late, full})).status(), status::service_unavailable);
    EXPECT_EQ(answer_to(error_group({some, late})).status(), status::gateway_timeout);
    EXPECT_EQ(answer_to(error_group({some})).status(), status::internal_server_error);
    const auto nested = std::make_exception_ptr(error_group({gone}));
    EXPECT_EQ(answer_to(error_group({some, nested})).status(), status::gone);
}

TEST(Problem, RetryAfterIsInWholeSeconds) {
    EXPECT_EQ(http::to_retry_after(0s), "1");
    EXPECT_EQ(http::to_retry_after(-5s), "1");
    EXPECT_EQ(http::to_retry_after(1ns), "1");
    EXPECT_EQ(http::to_retry_after(1s), "1");
    EXPECT_EQ(http::to_retry_after(1s + 1ns), "2");
    EXPECT_EQ(http::to_retry_after(clock::duration::max()), "31536000");
}

}  // namespace
