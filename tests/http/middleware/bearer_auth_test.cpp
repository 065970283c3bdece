// SPDX-License-Identifier: MIT
// Tokens and scopes of clients.

#include "handlers.hpp"

#include <weir/error.hpp>
#include <weir/http/bearer_auth.hpp>
#include <weir/http/problem.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using http::method;
using http::request;
using http::response;
using http::status;
using middleware_test::says_ok;

task<std::string> asks_with(http::handler& app, std::string_view name, std::string_view value) {
    request incoming(method::get, "/");
    if (!name.empty()) {
        incoming.headers().add(name, value);
    }
    response answer = co_await app(incoming);
    co_return std::to_string(number_of(answer.status())) + " " +
        std::string(answer.header("WWW-Authenticate"));
}

WEIR_TEST(BearerAuth, LetsKnownTokensIn) {
    http::bearer_auth auth;
    auth.token("alices-secret", "alice", "read write").token("Ym9i==", "bob").realm("tasks");
    std::string seen;
    http::handler app = http::with(auth, [&](request& incoming) {
        const auto* const principal = incoming.attached<http::principal>();
        seen = principal->name + "|" + principal->scopes;
        return response();
    });
    const struct {
        std::string_view header;
        std::string_view answer;
        std::string_view seen;
    } cases[] = {
        {"Bearer alices-secret", "200 ", "alice|read write"},
        {"bearer   alices-secret", "200 ", "alice|read write"},
        {"BEARER Ym9i==", "200 ", "bob|"},
        {"Bearer alices-secre", "401 Bearer realm=\"tasks\", error=\"invalid_token\"", ""},
        {"Bearer alices-secret2", "401 Bearer realm=\"tasks\", error=\"invalid_token\"", ""},
        {"Bearer Alices-secret", "401 Bearer realm=\"tasks\", error=\"invalid_token\"", ""},
        {"Basic YTpi", "401 Bearer realm=\"tasks\"", ""},
        {"Bearer", "400 Bearer realm=\"tasks\", error=\"invalid_request\"", ""},
        {"Bearer a b", "400 Bearer realm=\"tasks\", error=\"invalid_request\"", ""},
        {"Bearer =", "400 Bearer realm=\"tasks\", error=\"invalid_request\"", ""},
        {"Bearer a=b", "400 Bearer realm=\"tasks\", error=\"invalid_request\"", ""},
        {"Bearer \"a\"", "400 Bearer realm=\"tasks\", error=\"invalid_request\"", ""},
        {"Bearer\talices-secret", "400 Bearer realm=\"tasks\", error=\"invalid_request\"", ""},
        {",", "400 Bearer realm=\"tasks\", error=\"invalid_request\"", ""},
    };
    for (const auto& each : cases) {
        seen.clear();
        const std::string answer = co_await asks_with(app, "Authorization", each.header);
        EXPECT_EQ(answer, each.answer) << each.header;
        EXPECT_EQ(seen, each.seen) << each.header;
    }
    const std::string without = co_await asks_with(app, "", "");
    EXPECT_EQ(without, "401 Bearer realm=\"tasks\"");

    request twice(method::get, "/");
    twice.headers().add("Authorization", "Bearer alices-secret");
    twice.headers().add("Authorization", "Bearer Ym9i==");
    const response answer = co_await app(twice);
    EXPECT_EQ(answer.status(), status::bad_request);
    EXPECT_EQ(answer.content_type(), "application/problem+json");
}

WEIR_TEST(BearerAuth, AsksAFunctionAboutOtherTokens) {
    http::bearer_auth auth;
    auth.token("known", "known")
        .checked_by([](std::string_view token) -> task<std::optional<http::principal>> {
            const std::string kept(token);
            co_await sleep(1s);
            if (kept == "broken") {
                throw timed_out("the directory");
            }
            if (kept != "signed") {
                co_return std::nullopt;
            }
            co_return http::principal{"from afar", {}};
        });
    http::handler app = http::with(auth, [](request& incoming) {
        return response::text(incoming.attached<http::principal>()->name);
    });
    request incoming(method::get, "/");
    incoming.headers().set("Authorization", "Bearer signed");
    const response answer = co_await app(incoming);
    EXPECT_EQ(answer.body().text(), "from afar");
    const std::string other = co_await asks_with(app, "Authorization", "Bearer forged");
    EXPECT_EQ(other.substr(0, 3), "401");
    WEIR_EXPECT_TIMEOUT(asks_with(app, "Authorization", "Bearer broken"));
}

WEIR_TEST(BearerAuth, RequiresScopes) {
    http::bearer_auth auth;
    auth.token("a", "alice", "tasks:read tasks:write").token("b", "bob", "tasks:read");
    http::handler app = http::with(auth, http::with(http::require_scope("tasks:write"), says_ok()));
    const std::string alice = co_await asks_with(app, "Authorization", "Bearer a");
    EXPECT_EQ(alice, "200 ");
    const std::string bob = co_await asks_with(app, "Authorization", "Bearer b");
    EXPECT_EQ(bob, "403 Bearer error=\"insufficient_scope\", scope=\"tasks:write\"");
    http::handler open = http::with(http::require_scope("tasks:write"), says_ok());
    const std::string nobody = co_await asks_with(open, "", "");
    EXPECT_EQ(nobody, "401 Bearer");
    const http::principal principal{"x", " a  bc d"};
    EXPECT_TRUE(principal.may("a") && principal.may("bc") && principal.may("d"));
    EXPECT_FALSE(principal.may("b") || principal.may("") || principal.may("a  bc"));
}

TEST(BearerAuth, NeverShowsATokenInErrors) {
    http::bearer_auth auth;
    auth.token("very-secret", "alice");
    for (const std::string_view bad : {"very secret", "", "=", "se\"cret", "very-secret"}) {
        try {
            auth.token(bad, "bob");
            ADD_FAILURE() << bad;
        } catch (const invalid_argument& error) {
            const std::string what = error.what();
            EXPECT_NE(what.find("'bob'"), std::string::npos) << what;
            EXPECT_EQ(what.find("secret"), std::string::npos) << what;
        }
    }
    EXPECT_THROW(auth.realm("a\"b"), invalid_argument);
    EXPECT_THROW(http::require_scope("a b"), invalid_argument);
    EXPECT_THROW(http::require_scope(""), invalid_argument);
}

}  // namespace
