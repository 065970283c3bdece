// SPDX-License-Identifier: MIT
// Which redirects are followed, and what becomes of the request.

#include "http/client/redirect.hpp"

#include <weir/http/client_error.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace {

using weir::http::client_options;
using weir::http::client_request;
using weir::http::headers;
using weir::http::method;
using weir::http::redirect_error;
using weir::http::redirects;
using weir::http::status;
using weir::http::url;
using weir::http::detail::follow_redirect;
using weir::http::detail::is_origin_secret;
using weir::http::detail::redirect_target;

std::string target_of(std::string_view from, std::string_view location,
                      redirects followed = redirects::any, status code = status::found) {
    const client_request request(method::get, from);
    const auto target =
        redirect_target(request, code, headers{{"Location", location}}, followed, client_options());
    return target ? target->text() : "";
}

TEST(Redirect, FollowsTheLocationOfARedirect) {
    EXPECT_EQ(target_of("http://a/x/y", "../z"), "http://a/z");
    EXPECT_EQ(target_of("http://a/", "https://user:secret@b/"), "https://b/");
    EXPECT_EQ(target_of("http://a/", "/b", redirects::none), "");
    EXPECT_EQ(target_of("http://a/", "/b", redirects::any, status::ok), "");
    EXPECT_EQ(target_of("http://a/", "/b", redirects::any, status::not_modified), "");
    EXPECT_EQ(target_of("http://a/", ""), "");
}

TEST(Redirect, StaysOnTheSameHostIfAsked) {
    EXPECT_EQ(target_of("http://a/", "http://a/b", redirects::same_host), "http://a/b");
    EXPECT_EQ(target_of("http://a/", "https://a/b", redirects::same_host), "https://a/b");
    EXPECT_EQ(target_of("http://a/", "http://a:81/b", redirects::same_host), "");
    EXPECT_EQ(target_of("http://a/", "http://b/", redirects::same_host), "");
}

TEST(Redirect, RefusesUnsafeTargets) {
    EXPECT_THROW(target_of("https://a/", "http://a/"), redirect_error);
    EXPECT_THROW(target_of("http://a/", "ftp://a/"), redirect_error);
    EXPECT_THROW(target_of("http://a/", "ws://a/"), redirect_error);
    client_request streamed(method::put, "http://a/");
    streamed.set_body(
        weir::http::body::stream([](weir::http::body_writer&) -> weir::task<> { co_return; }));
    const headers location{{"Location", "/b"}};
    EXPECT_THROW(
        redirect_target(streamed, status::temporary_redirect, location, redirects::any, {}),
        redirect_error);
    EXPECT_TRUE(redirect_target(streamed, status::see_other, location, redirects::any, {}));
}

TEST(Redirect, KeepsOrDropsTheBody) {
    client_request post(method::post, "http://a/");
    post.set_body(std::string(), "text/plain");
    follow_redirect(post, status::temporary_redirect, std::string("sent"),
                    url::parse("http://a/b#f"));
    EXPECT_EQ(post.method(), method::post);
    EXPECT_EQ(post.url().text(), "http://a/b");
    EXPECT_EQ(post.body().text(), "sent");
    EXPECT_TRUE(post.headers().contains("Content-Type"));
    follow_redirect(post, status::found, std::string("sent"), url::parse("http://a/c"));
    EXPECT_EQ(post.method(), method::get);
    EXPECT_EQ(post.method_name(), "GET");
    EXPECT_TRUE(post.body().empty());
    EXPECT_FALSE(post.headers().contains("Content-Type"));
}

TEST(Redirect, KeepsSecretsInTheirOrigin) {
    client_request request(method::get, "http://a/");
    request.set_bearer("secret").set_header("X-Other", "kept");
    follow_redirect(request, status::found, {}, url::parse("http://a/b"));
    EXPECT_TRUE(request.headers().contains("Authorization"));
    EXPECT_FALSE(request.has_left_origin());
    follow_redirect(request, status::found, {}, url::parse("https://a/b"));
    EXPECT_FALSE(request.headers().contains("Authorization"));
    EXPECT_TRUE(request.headers().contains("X-Other"));
    EXPECT_TRUE(request.has_left_origin());
    EXPECT_TRUE(is_origin_secret("cookie"));
    EXPECT_FALSE(is_origin_secret("Accept"));
}

}  // namespace
