// SPDX-License-Identifier: MIT
// Responses as handlers make them.

#include <weir/error.hpp>
#include <weir/http/response.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace {

using namespace weir;
using http::response;
using http::status;

TEST(Response, IsOkAndEmptyAtFirst) {
    const response answer;
    EXPECT_EQ(answer.status(), status::ok);
    EXPECT_TRUE(answer.body().empty());
    EXPECT_EQ(answer.content_type(), "");
}

TEST(Response, HasAConstructorForEachKindOfContent) {
    EXPECT_EQ(response::text("a").content_type(), "text/plain; charset=utf-8");
    EXPECT_EQ(response::html("a").content_type(), "text/html; charset=utf-8");
    const response json = response::json_text("{}", status::created);
    EXPECT_EQ(json.content_type(), "application/json");
    EXPECT_EQ(json.status(), status::created);
    EXPECT_EQ(json.body().text(), "{}");

    const response problem = response::problem(status::not_found, "no such task");
    EXPECT_EQ(problem.status(), status::not_found);
    EXPECT_EQ(problem.content_type(), "application/problem+json");
    EXPECT_NE(problem.body().text().find("no such task"), std::string_view::npos);

    const response redirect = response::redirect("/there");
    EXPECT_EQ(redirect.status(), status::see_other);
    EXPECT_EQ(redirect.header("Location"), "/there");

    const response stream =
        response::stream("text/event-stream", [](http::body_writer&) -> task<> { co_return; }, 9);
    EXPECT_EQ(stream.content_type(), "text/event-stream");
    EXPECT_EQ(stream.body().size(), 9U);
}

TEST(Response, AHeaderOverridesTheContentType) {
    const response answer = response::text("a").with("Content-Type", "text/csv");
    EXPECT_EQ(answer.content_type(), "text/csv");
    EXPECT_THROW(response::text("a").with("X", "a\r\nb"), invalid_argument);
}

TEST(Response, AnUpgradeHandsTheConnectionOver) {
    response answer = response::upgrade("websocket", [](http::upgraded) -> task<> { co_return; });
    EXPECT_TRUE(answer.is_upgrade());
    EXPECT_EQ(answer.status(), status::switching_protocols);
    EXPECT_EQ(answer.header("Upgrade"), "websocket");
    EXPECT_EQ(answer.header("Connection"), "Upgrade");
    EXPECT_TRUE(static_cast<bool>(answer.take_upgrade()));
    EXPECT_FALSE(response::text("a").is_upgrade());
}

}  // namespace
