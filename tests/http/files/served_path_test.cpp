// SPDX-License-Identifier: MIT
// Paths of requests as paths below a folder, and the types of files.

#include "http/files/served_path.hpp"

#include "http/files/representation.hpp"

#include <weir/http/date.hpp>
#include <weir/http/request.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace http = weir::http;

std::string served(std::string_view sent, bool hides_dots = true) {
    const auto found = http::detail::served_path_of(sent, hides_dots);
    return !found ? "-" : (found->is_directory ? "folder " : "file ") + found->text;
}

TEST(ServedPath, FollowsTheTable) {
    EXPECT_EQ(served(""), "folder ");
    EXPECT_EQ(served("a"), "file a");
    EXPECT_EQ(served("a/b.html"), "file a/b.html");
    EXPECT_EQ(served("a/"), "folder a");
    EXPECT_EQ(served("a%20b/%C3%A4"), "file a b/\xC3\xA4");
    EXPECT_EQ(served("a+b"), "file a+b");
    EXPECT_EQ(served("%41%2E"), "file A.");
    EXPECT_EQ(served("a..b/c."), "file a..b/c.");
    EXPECT_EQ(served("a%252e"), "file a%2e");  // decoded once
    EXPECT_EQ(served("..."), "-");
    EXPECT_EQ(served("...", false), "file ...");
    EXPECT_EQ(served(".git/config"), "-");
    EXPECT_EQ(served("a/.b"), "-");
    EXPECT_EQ(served("a/%2eb"), "-");
    EXPECT_EQ(served(".git/config", false), "file .git/config");
    EXPECT_EQ(served(".well-known/acme-challenge/x"), "file .well-known/acme-challenge/x");
    EXPECT_EQ(served("a/.well-known/x"), "-");
    for (const char* each : {"/",          "//",    "/a",      "a//",       "a//b",
                             ".",          "..",    "./a",     "../a",      "a/..",
                             "a/../b",     "a/./b", "%2e",     "%2E%2e",    "%2e./a",
                             "a/%2e%2e/b", "a%2fb", "a%2Fb",   "%2f",       "%2fetc/passwd",
                             "a%00",       "%00",   "a%",      "a%2",       "a%zz",
                             "%",          "a/%2",  "a/..%2f", "..%2f..%2f"}) {
        EXPECT_EQ(served(each), "-") << each;
        EXPECT_EQ(served(each, false), "-") << each;
    }
    EXPECT_EQ(served(std::string(4001, 'a')), "-");
    EXPECT_NE(served(std::string(4000, 'a')), "-");
    EXPECT_EQ(served(std::string(100'000, '%')), "-");
}

std::string rest(std::string_view target, std::string_view route, std::string_view prefix = {}) {
    http::request incoming(http::method::get, target);
    incoming.set_route(route);
    return std::string(http::detail::rest_of_path(incoming, prefix).value_or("-"));
}

TEST(ServedPath, BeginsAfterARouteOrAPrefix) {
    EXPECT_EQ(rest("/a/b?c/d", ""), "a/b");
    EXPECT_EQ(rest("/", ""), "");
    EXPECT_EQ(rest("/static/a/b", "/static/{path...}"), "a/b");
    EXPECT_EQ(rest("/static/", "/static/{path...}"), "");
    EXPECT_EQ(rest("/static", "/static/{path...}"), "");
    EXPECT_EQ(rest("/u/7/files/a%2Fb/c", "/u/{id}/files/{path...}"), "a%2Fb/c");
    EXPECT_EQ(rest("/a/b", "/{path...}"), "a/b");
    EXPECT_EQ(rest("/a/b", "", "/a"), "b");
    EXPECT_EQ(rest("/a/b", "", "/a/"), "b");
    EXPECT_EQ(rest("/a", "", "/a"), "");
    EXPECT_EQ(rest("/ab", "", "/a"), "-");
    EXPECT_EQ(rest("/b/a", "", "/a"), "-");
}

TEST(ServedPath, TypesFollowTheExtension) {
    using http::detail::content_type_of;
    EXPECT_EQ(content_type_of("a/index.html"), "text/html; charset=utf-8");
    EXPECT_EQ(content_type_of("A.HTML"), "text/html; charset=utf-8");
    EXPECT_EQ(content_type_of("app.min.js"), "text/javascript; charset=utf-8");
    EXPECT_EQ(content_type_of("site.webmanifest"), "application/manifest+json");
    for (const char* each : {"", "html", ".html", "a.b/c", "a.", "a.unheardof", "a.html~",
                             "a.averyveryverylongextension", "a.html/"}) {
        EXPECT_EQ(content_type_of(each), "application/octet-stream") << each;
    }
}

}  // namespace
