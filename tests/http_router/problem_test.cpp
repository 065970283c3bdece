// SPDX-License-Identifier: MIT
// Errors as problem+json: what is in the document, and what becomes of what a handler throws.

#include <weir/error.hpp>
#include <weir/http/problem.hpp>
#include <weir/refusal.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

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
              "\"detail\":\"3 \\\"left\\\"\\u000a\",\"instance\":\"/orders/7\",\"left\":4,"
              "\"largest\":18446744073709551615,\"least\":-9223372036854775808,\"can_wait\":true,"
              "\"name\":\"caf\xc3\xa9\",\"list\":[1,2]}\n");
    details.header("Retry-After", "7");
    const http::response answer = details.to_response();
    EXPECT_EQ(answer.code(), status::conflict);
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
        std::string_view given;
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
        EXPECT_EQ(http::response::problem(status::not_found, each.given).body().text(),
                  "{\"title\":\"Not Found\",\"status\":404,\"detail\":\"" +
                      std::string(each.shown) + "\"}\n");
    }
}

TEST(Problem, IsWhatErrorsBecome) {
    const http::response known = answer_to(http::problem(status::gone, "it was here"));
    EXPECT_EQ(known.code(), status::gone);
    EXPECT_NE(known.body().text().find("it was here"), std::string_view::npos);
    EXPECT_EQ(answer_to(http::protocol_error(status::bad_request, "x")).code(),
              status::bad_request);

    http::problem_details details(status::forbidden);
    details.member("why", "night").header("X-More", "yes");
    const http::response detailed = answer_to(http::detailed_problem(details));
    EXPECT_EQ(detailed.code(), status::forbidden);
    EXPECT_EQ(detailed.header("X-More"), "yes");
    EXPECT_NE(detailed.body().text().find("\"why\":\"night\""), std::string_view::npos);

    const http::response refused = answer_to(
        weir::refused({.reason = refusal_reason::circuit_open, .retry_after = 1001ms}, "secret"));
    EXPECT_EQ(refused.code(), status::service_unavailable);
    EXPECT_EQ(refused.header("Retry-After"), "2");
    EXPECT_EQ(refused.body().text().find("secret"), std::string_view::npos);
    const http::response for_ever =
        answer_to(weir::refused({.reason = {}, .retry_after = refusal::never}));
    EXPECT_FALSE(for_ever.headers().contains("Retry-After"));

    EXPECT_EQ(answer_to(timed_out()).code(), status::gateway_timeout);
    EXPECT_EQ(answer_to(cancelled("why")).code(), status::service_unavailable);

    const http::response unknown = answer_to(std::runtime_error("password 1234"));
    EXPECT_EQ(unknown.code(), status::internal_server_error);
    EXPECT_EQ(unknown.body().text(), "{\"title\":\"Internal Server Error\",\"status\":500}\n");
    EXPECT_EQ(answer_to(7).code(), status::internal_server_error);
    EXPECT_EQ(http::to_response(nullptr).code(), status::internal_server_error);
}

TEST(Problem, IsFoundInGroups) {
    const auto some = std::make_exception_ptr(std::runtime_error("some"));
    const auto late = std::make_exception_ptr(timed_out());
    const auto full =
        std::make_exception_ptr(refused({.reason = refusal_reason::queue_full, .retry_after = {}}));
    const auto gone = std::make_exception_ptr(http::problem(status::gone, "x"));
    EXPECT_EQ(answer_to(error_group({some, late, full, gone})).code(), status::gone);
    EXPECT_EQ(answer_to(error_group({some, late, full})).code(), status::service_unavailable);
    EXPECT_EQ(answer_to(error_group({some, late})).code(), status::gateway_timeout);
    EXPECT_EQ(answer_to(error_group({some})).code(), status::internal_server_error);
    const auto nested = std::make_exception_ptr(error_group({gone}));
    EXPECT_EQ(answer_to(error_group({some, nested})).code(), status::gone);
}

TEST(Problem, RetryAfterIsInWholeSeconds) {
    EXPECT_EQ(http::to_retry_after(0s), "1");
    EXPECT_EQ(http::to_retry_after(-5s), "1");
    EXPECT_EQ(http::to_retry_after(1ns), "1");
    EXPECT_EQ(http::to_retry_after(1s), "1");
    EXPECT_EQ(http::to_retry_after(1s + 1ns), "2");
    EXPECT_EQ(http::to_retry_after(clock::duration::max()), "31536000");
}

// ---- headers, of which all answers are made ------------------------------------------------------

TEST(Headers, MayBeGivenTheirOwnText) {
    http::headers fields;
    fields.add("A", "some text that is long enough");
    for (int i = 0; i < 100; ++i) {  // the text moves, now and then
        fields.add(fields[0].name, fields.get("a"));
        fields.set("B", fields.get("A"));
        fields.set_default("C" + std::to_string(i), fields.get("B"));
    }
    EXPECT_EQ(fields.count("A"), 101u);
    EXPECT_EQ(fields.count("B"), 1u);
    EXPECT_EQ(fields.size(), 202u);
    for (const auto& [name, value] : fields) {
        EXPECT_EQ(value, "some text that is long enough") << name;
    }
    fields.set(fields[0].name, fields[7].value);
    EXPECT_EQ(fields.size(), 102u);
}

TEST(Headers, SetReplacesAllAndKeepsTheRest) {
    http::headers fields{{"A", "1"}, {"b", "2"}, {"a", "3"}};
    fields.set("A", "");
    EXPECT_EQ(fields.size(), 2u);
    EXPECT_EQ(fields.find("a"), "");
    EXPECT_EQ(fields[0].name, "b");
    EXPECT_THROW(fields.set("b", "x\n"), invalid_argument);
    EXPECT_THROW(fields.set("", "x"), invalid_argument);
    EXPECT_EQ(fields.get("B"), "2");
    EXPECT_EQ(fields.size(), 2u);
}

}  // namespace
