// SPDX-License-Identifier: MIT
// Middleware that asks who the client is: tokens, limits for each, proxies.

#include <weir/error.hpp>
#include <weir/http/bearer_auth.hpp>
#include <weir/http/client_limit.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/trusted_proxies.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using http::method;
using http::request;
using http::response;
using http::status;

http::handler says_ok() {
    return [] { return response::text("ok"); };
}

http::handler throws_gone() {
    return [](request&) -> response { throw http::problem(status::gone, "gone"); };
}

task<std::string> asks_with(http::handler& app, std::string_view name, std::string_view value) {
    request asked(method::get, "/");
    if (!name.empty()) {
        asked.headers().add(name, value);
    }
    response answer = co_await app(asked);
    co_return std::to_string(number_of(answer.status())) + " " +
        std::string(answer.header("WWW-Authenticate"));
}

// ---- who may ask
// ---------------------------------------------------------------------------------

WEIR_TEST(BearerAuth, LetsInThoseItKnows) {
    http::bearer_auth auth;
    auth.token("alices-secret", "alice", "read write").token("Ym9i==", "bob").realm("tasks");
    std::string seen;
    http::handler app = http::with(auth, [&](request& asked) {
        const auto* const who = asked.attached<http::principal>();
        seen = who->name + "|" + who->scopes;
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

WEIR_TEST(BearerAuth, AsksAFunctionForOthers) {
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
    http::handler app = http::with(auth, [](request& asked) {
        return response::text(asked.attached<http::principal>()->name);
    });
    request asked(method::get, "/");
    asked.headers().set("Authorization", "Bearer signed");
    const response answer = co_await app(asked);
    EXPECT_EQ(answer.body().text(), "from afar");
    const std::string other = co_await asks_with(app, "Authorization", "Bearer forged");
    EXPECT_EQ(other.substr(0, 3), "401");
    WEIR_EXPECT_TIMEOUT(asks_with(app, "Authorization", "Bearer broken"));
}

WEIR_TEST(BearerAuth, Scopes) {
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
    const http::principal who{"x", " a  bc d"};
    EXPECT_TRUE(who.may("a") && who.may("bc") && who.may("d"));
    EXPECT_FALSE(who.may("b") || who.may("") || who.may("a  bc"));
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

// ---- how often
// -----------------------------------------------------------------------------------

task<response> asks_from(http::handler& app, std::string_view host) {
    request asked(method::get, "/");
    asked.set_remote_address(io::address::parse(host, 1234));
    response answer = co_await app(asked);
    co_return answer;
}

WEIR_TEST(ClientLimit, CountsForEachClient) {
    const http::client_limit limit({.rate = 2, .burst = 3});
    http::handler app = http::with(limit, says_ok());
    for (const int left : {2, 1, 0}) {
        const response answer = co_await asks_from(app, "192.0.2.1");
        EXPECT_EQ(answer.status(), status::ok);
        EXPECT_EQ(answer.header("RateLimit-Limit"), "3");
        EXPECT_EQ(answer.header("RateLimit-Remaining"), std::to_string(left));
        EXPECT_EQ(answer.header("RateLimit-Reset"), left == 0 ? "2" : "1");  // 0.5, 1, 1.5 s
        EXPECT_EQ(answer.header("RateLimit-Policy"), "\"default\";q=3;w=2");
        EXPECT_FALSE(answer.headers().contains("Retry-After"));
    }
    const response refused = co_await asks_from(app, "192.0.2.1");
    EXPECT_EQ(refused.status(), status::too_many_requests);
    EXPECT_EQ(refused.content_type(), "application/problem+json");
    EXPECT_EQ(refused.header("Retry-After"), "1");
    EXPECT_EQ(refused.header("RateLimit-Remaining"), "0");
    EXPECT_EQ(refused.header("RateLimit"), "\"default\";r=0;t=2");
    const response other = co_await asks_from(app, "192.0.2.2");
    EXPECT_EQ(other.status(), status::ok);

    // Who waits as long as was said is let in.
    co_await sleep(1s);
    const response later = co_await asks_from(app, "192.0.2.1");
    EXPECT_EQ(later.status(), status::ok);
    EXPECT_EQ(later.header("RateLimit-Remaining"), "1");
    EXPECT_EQ(limit.stats().let_in, 5u);
    EXPECT_EQ(limit.stats().refused, 1u);
}

WEIR_TEST(ClientLimit, HeadersAlsoOnFailures) {
    http::handler app = http::with(http::client_limit({.rate = 1}), throws_gone());
    const response answer = co_await asks_from(app, "192.0.2.1");
    EXPECT_EQ(answer.status(), status::gone);
    EXPECT_EQ(answer.header("RateLimit-Remaining"), "0");
}

WEIR_TEST(ClientLimit, TheTightestIsTold) {
    for (const bool is_inner : {true, false}) {
        const http::client_limit wide({.rate = 1, .burst = 100, .name = "wide"});
        const http::client_limit tight({.rate = 1, .burst = 20, .name = "tight"});
        http::handler app =
            http::with(is_inner ? wide : tight, http::with(is_inner ? tight : wide, says_ok()));
        const response answer = co_await asks_from(app, "192.0.2.1");
        EXPECT_EQ(answer.header("RateLimit-Limit"), "20");
        EXPECT_EQ(answer.header("RateLimit-Remaining"), "19");
        EXPECT_EQ(answer.headers().count("RateLimit-Remaining"), 1u);
        EXPECT_EQ(answer.headers().joined("RateLimit"),
                  is_inner ? "\"tight\";r=19;t=1, \"wide\";r=99;t=1"
                           : "\"wide\";r=99;t=1, \"tight\";r=19;t=1");
    }
}

WEIR_TEST(ClientLimit, MemoryIsBounded) {
    http::client_limit limit({.rate = 1, .max_clients = 2});
    http::handler app = http::with(limit, says_ok());
    const response first = co_await asks_from(app, "192.0.2.1");
    const response second = co_await asks_from(app, "192.0.2.2");
    const response third = co_await asks_from(app, "192.0.2.3");
    EXPECT_EQ(first.status(), status::ok);
    EXPECT_EQ(second.status(), status::ok);
    EXPECT_EQ(third.status(), status::service_unavailable);
    EXPECT_EQ(third.header("Retry-After"), "1");
    EXPECT_EQ(limit.stats().full, 1u);
}

WEIR_TEST(ClientLimit, KeysOfOnesOwn) {
    http::client_limit by_name({.rate = 1, .name = "names"}, [](const request& asked) {
        return std::string(asked.header("X-Name"));
    });
    http::handler app = http::with(by_name, says_ok());
    const std::string first = co_await asks_with(app, "X-Name", "a");
    const std::string second = co_await asks_with(app, "X-Name", "a");
    const std::string other = co_await asks_with(app, "X-Name", "b");
    const std::string free = co_await asks_with(app, "", "");
    const std::string free_again = co_await asks_with(app, "", "");
    EXPECT_EQ(first + second + other + free + free_again, "200 429 200 200 200 ");
}

TEST(ClientLimit, ClientsByTheirAddresses) {
    const auto key = [](std::string_view host, unsigned prefix = 64) {
        return http::client_key(io::address::parse(host, 0), prefix);
    };
    EXPECT_EQ(key("192.0.2.1"), key("::ffff:192.0.2.1"));
    EXPECT_NE(key("192.0.2.1"), key("192.0.2.2"));
    EXPECT_EQ(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::2"));
    EXPECT_NE(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
    EXPECT_EQ(key("2001:db8:1:2::1", 56), key("2001:db8:1:3::1", 56));
    EXPECT_NE(key("2001:db8:1:2::1", 56), key("2001:db8:1:100::1", 56));
    EXPECT_NE(key("255.255.255.255"), key("::"));
    EXPECT_EQ(http::client_key(io::address()), http::client_key(io::address::local("/x")));
}

TEST(ClientLimit, RefusesBadOptions) {
    EXPECT_THROW(http::client_limit({}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = -1}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = std::numeric_limits<double>::quiet_NaN()}),
                 invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .per = 0s}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .burst = 0}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .max_clients = 0}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .ipv6_prefix = 65}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .name = "a\"b"}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1}, http::client_limit::key_function()),
                 invalid_argument);
}

// ---- who is behind a proxy
// -----------------------------------------------------------------------

TEST(TrustedProxies, BelieveOnlyWhatProxiesWrote) {
    const struct {
        std::string_view peer;
        std::vector<std::string_view> lines;
        std::string_view client;
    } cases[] = {
        {"203.0.113.9", {"192.0.2.1"}, "203.0.113.9:7"},  // not a proxy
        {"10.0.0.1", {}, "10.0.0.1:7"},
        {"10.0.0.1", {"192.0.2.1"}, "192.0.2.1:0"},
        {"10.0.0.1", {"192.0.2.1:80"}, "192.0.2.1:80"},
        {"10.0.0.1", {"6.6.6.6, 192.0.2.1"}, "192.0.2.1:0"},  // made up, then the truth
        {"10.0.0.1", {"6.6.6.6,192.0.2.1 ,\t10.0.0.2"}, "192.0.2.1:0"},
        {"10.0.0.1", {"6.6.6.6", "192.0.2.1", "10.0.0.2"}, "192.0.2.1:0"},
        {"10.0.0.1", {"10.0.0.3, 10.0.0.2"}, "10.0.0.3:0"},  // proxies all the way
        {"10.0.0.1", {"2001:db8::1"}, "[2001:db8::1]:0"},
        {"10.0.0.1", {"[2001:db8::1]"}, "[2001:db8::1]:0"},
        {"10.0.0.1", {"[2001:db8::1]:80"}, "[2001:db8::1]:80"},
        {"::ffff:10.0.0.1", {"192.0.2.1"}, "192.0.2.1:0"},
        {"2001:db8:7::1", {"192.0.2.1"}, "192.0.2.1:0"},
        // Garbage: as far as it makes sense.
        {"10.0.0.1", {"unknown"}, "10.0.0.1:7"},
        {"10.0.0.1", {""}, "10.0.0.1:7"},
        {"10.0.0.1", {",,"}, "10.0.0.1:7"},
        {"10.0.0.1", {"192.0.2.1, nonsense, 10.0.0.2"}, "10.0.0.2:0"},
        {"10.0.0.1", {"192.0.2.1,"}, "10.0.0.1:7"},
        {"10.0.0.1", {"1.2.3.4.5"}, "10.0.0.1:7"},
        {"10.0.0.1", {"fe80::1%lo"}, "10.0.0.1:7"},
        {"10.0.0.1", {"unix:/x"}, "10.0.0.1:7"},
        {"10.0.0.1", {"0x7f.1"}, "10.0.0.1:7"},
        {"10.0.0.1", {"192.0.2.1:99999"}, "10.0.0.1:7"},
    };
    http::trusted_proxies proxies;
    proxies.trust("10.0.0.0/8").trust("2001:db8:7::/48");
    for (const auto& each : cases) {
        http::headers fields;
        fields.add("Forwarded", "for=6.6.6.6");  // not the one that is asked for
        for (const std::string_view line : each.lines) {
            fields.add("X-Forwarded-For", line);
        }
        const io::address client = proxies.client_of(io::address::parse(each.peer, 7), fields);
        EXPECT_EQ(client.text(), each.client)
            << each.peer << ' ' << (each.lines.empty() ? "" : each.lines.back());
    }
    EXPECT_EQ(proxies.client_of(io::address::local("/s"), {{"X-Forwarded-For", "192.0.2.1"}}),
              io::address::local("/s"));
    proxies.trust("unix");
    EXPECT_EQ(proxies.client_of(io::address(), {{"X-Forwarded-For", "192.0.2.1"}}).text(),
              "192.0.2.1:0");
    EXPECT_THROW(proxies.trust("10.0.0.0/33"), invalid_argument);
    EXPECT_THROW(proxies.trust("proxy.example.com"), invalid_argument);
}

TEST(TrustedProxies, StandardHeader) {
    const struct {
        std::vector<std::string_view> lines;
        std::string_view client;
    } cases[] = {
        {{"for=192.0.2.1"}, "192.0.2.1:0"},
        {{"For=192.0.2.1;proto=https;by=10.0.0.1"}, "192.0.2.1:0"},
        {{"proto=https; for=\"192.0.2.1:80\""}, "192.0.2.1:80"},
        {{"for=\"[2001:db8::1]:80\""}, "[2001:db8::1]:80"},
        {{"for=6.6.6.6, for=192.0.2.1 , for=10.0.0.2"}, "192.0.2.1:0"},
        {{"for=6.6.6.6", "for=192.0.2.1", "for=10.0.0.2"}, "192.0.2.1:0"},
        {{"for=\"6.6.6.6, for=1.1.1.1\", for=192.0.2.1"}, "192.0.2.1:0"},
        {{"for=\"192.\\0.2.1\""}, "192.0.2.1:0"},
        {{"for=192.0.2.1;"}, "192.0.2.1:0"},
        {{"for=6.6.6.6, for=_hidden"}, "10.0.0.1:7"},
        {{"for=6.6.6.6, for=unknown"}, "10.0.0.1:7"},
        {{"for=6.6.6.6, proto=https"}, "10.0.0.1:7"},
        {{"for=6.6.6.6;for=192.0.2.1"}, "10.0.0.1:7"},
        {{"for=\", for=192.0.2.1"}, "10.0.0.1:7"},
        {{"for=6.6.6.6\"", "for=10.0.0.2"}, "10.0.0.2:0"},
        {{"for=\"6.6.6.6\\"}, "10.0.0.1:7"},
        {{"for"}, "10.0.0.1:7"},
        {{"for="}, "10.0.0.1:7"},
        {{"=192.0.2.1"}, "10.0.0.1:7"},
        {{";,;,"}, "10.0.0.1:7"},
        {{"for=a b"}, "10.0.0.1:7"},
    };
    http::trusted_proxies proxies(http::forwarded_header::forwarded);
    proxies.trust("10.0.0.0/8");
    for (const auto& each : cases) {
        http::headers fields;
        fields.add("X-Forwarded-For", "6.6.6.6");
        for (const std::string_view line : each.lines) {
            fields.add("Forwarded", line);
        }
        const io::address client = proxies.client_of(io::address::parse("10.0.0.1:7"), fields);
        EXPECT_EQ(client.text(), each.client) << each.lines.back();
    }
    // Whatever is sent before what the proxy adds: the client is who the proxy says, or the proxy.
    std::mt19937 random(5);
    const std::string_view letters = "for=,;\" \\[]:.0169x";
    for (int round = 0; round < 10'000; ++round) {
        std::string line;
        for (unsigned size = random() % 24; size > 0; --size) {
            line += letters[random() % letters.size()];
        }
        line = std::string(line.substr(std::min(line.size(), line.find_first_not_of(' '))));
        const std::string whole = line + ", for=192.0.2.1";
        const std::string client =
            proxies.client_of(io::address::parse("10.0.0.1:7"), {{"Forwarded", whole}}).text();
        EXPECT_TRUE(client == "192.0.2.1:0" || client == "10.0.0.1:7") << whole << ": " << client;
    }
}

WEIR_TEST(TrustedProxies, SetsTheClientOfTheRequest) {
    http::handler app = http::with(http::trusted_proxies().trust("10.0.0.1"), [](request& asked) {
        return response::text(asked.client_address().host() + " " + asked.remote_address().host());
    });
    request asked(method::get, "/");
    asked.set_remote_address(io::address::parse("10.0.0.1:5"));
    asked.headers().set("X-Forwarded-For", "192.0.2.9");
    const response answer = co_await app(asked);
    EXPECT_EQ(answer.body().text(), "192.0.2.9 10.0.0.1");
}

}  // namespace
