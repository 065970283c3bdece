// SPDX-License-Identifier: MIT
// Access control: with and without tokens, from this machine and from pages of other sites.

#include <weir/error.hpp>
#include <weir/http/router.hpp>
#include <weir/service/access.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace http = weir::http;
namespace io = weir::io;
using namespace weir::service;
using http::method;

using fields = std::vector<std::pair<std::string, std::string>>;

constexpr std::array<std::string_view, 2> tokens = {"0123456789abcdef", "another-token-/+=="};

http::router make(const access_options& options) {
    http::router app;
    app.use(access_control(options, [](std::string_view route) { return route == "/page"; }));
    for (const char* path : {"/", "/page", "/events"}) {
        app.get(path, [] { return http::response::text("in"); });
    }
    app.post("/", [] { return http::response::text("in"); });
    return app;
}

weir::task<http::response> ask(http::router& app, method verb, std::string path, fields headers,
                               std::string from = "127.0.0.1:5000") {
    http::request request(verb, path);
    request.headers().set("Host", "localhost:8080");
    for (const auto& [name, value] : headers) {
        request.headers().set(name, value);
    }
    request.set_remote_address(io::address::parse(from));
    co_return co_await app(request);
}

weir::task<unsigned> status_of(http::router& app, method verb, std::string path, fields headers,
                               std::string from = "127.0.0.1:5000") {
    const http::response answer =
        co_await ask(app, verb, std::move(path), std::move(headers), from);
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
    EXPECT_NE(answer.header("Content-Security-Policy").find("default-src 'self'"),
              std::string::npos);
    EXPECT_NE(answer.header("Content-Security-Policy").find("frame-ancestors 'none'"),
              std::string::npos);
    EXPECT_EQ(answer.header("Referrer-Policy"), "no-referrer");
    co_return number_of(answer.status());
}

const std::string origin = "http://localhost:8080";

}  // namespace

WEIR_TEST(ServiceAccess, WithoutATokenOnlyThisMachineGetsIn) {
    http::router app = make({});
    for (const std::string host : {"localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1",
                                   "127.0.0.1:8080", "[::1]", "[::1]:8080"}) {
        const fields headers{{"Host", host}};
        const unsigned read = co_await status_of(app, method::get, "/", headers);
        EXPECT_EQ(read, 200U) << host;
        const unsigned wrote = co_await status_of(app, method::post, "/", headers);
        EXPECT_EQ(wrote, 200U) << host;
    }
    // A name that its owner points to 127.0.0.1 while the page is open.
    for (const std::string host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                                   "127.0.0.1.evil.example", "10.0.0.1", "[::2]:8080", "0.0.0.0",
                                   "", "127.0.0.2", "2130706433", "[::ffff:127.0.0.1]"}) {
        const fields request_headers{{"Host", host}};
        for (const char* path : {"/", "/page", "/events", "/nothing"}) {
            const unsigned read = co_await status_of(app, method::get, path, request_headers);
            EXPECT_EQ(read, 403U) << host << path;
        }
    }
    const fields none;
    const unsigned far = co_await status_of(app, method::get, "/", none, "10.1.2.3:5000");
    EXPECT_EQ(far, 403U);
    const unsigned near = co_await status_of(app, method::get, "/", none, "[::1]:5000");
    EXPECT_EQ(near, 200U);
    const unsigned local = co_await status_of(app, method::get, "/", none, "unix:/run/weir.sock");
    EXPECT_EQ(local, 200U);
}

WEIR_TEST(ServiceAccess, PagesOfOtherSitesAreRefused) {
    static constexpr std::array<std::string_view, 1> origins = {"https://tasks.example.com:443"};
    static constexpr std::array<std::string_view, 1> hosts = {"build-machine"};
    http::router plain = make({.origins = origins, .hosts = hosts});
    http::router guarded = make({.tokens = tokens, .origins = origins});
    struct visit {
        method verb;
        fields headers;
        unsigned expected;
    };
    const std::vector<visit> visits = {
        {method::post, {{"Origin", origin}}, 200},
        {method::post, {{"Origin", "https://tasks.example.com"}}, 200},
        {method::post,
         {{"Origin", "https://tasks.example.com"}, {"Sec-Fetch-Site", "cross-site"}},
         200},
        {method::post, {{"Origin", "http://localhost:3000"}}, 403},
        {method::post, {{"Origin", "http://evil.example"}}, 403},
        {method::post, {{"Origin", "null"}}, 403},
        {method::post, {{"Origin", ""}}, 403},
        {method::post, {{"Origin", "http://localhost:8080@evil.example"}}, 403},
        {method::post, {{"Origin", "file://"}}, 403},
        {method::post, {{"Sec-Fetch-Site", "same-origin"}}, 200},
        {method::post, {{"Sec-Fetch-Site", "none"}}, 200},
        {method::post, {{"Sec-Fetch-Site", "same-site"}}, 403},
        {method::post, {{"Sec-Fetch-Site", "cross-site"}}, 403},
        {method::post, {{"Sec-Fetch-Site", "Cross-Site"}}, 403},
        {method::post, {{"Sec-Fetch-Site", "something-new"}}, 403},
        {method::post, {{"Sec-Fetch-Site", ""}}, 403},
        {method::post, {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}}, 403},
        {method::get, {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}}, 403},
        {method::get, {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}}, 200},
        {method::get, {{"Origin", "http://evil.example"}, {"Upgrade", "websocket"}}, 403},
        {method::get, {{"Origin", origin}, {"Upgrade", "websocket"}}, 200},
        {method::get, {{"Upgrade", "websocket"}}, 200},
        {method::get,
         {{"Upgrade", "websocket"},
          {"Sec-Fetch-Site", "cross-site"},
          {"Sec-Fetch-Mode", "navigate"}},
         403},
    };
    for (const visit& each : visits) {
        const unsigned without = co_await status_of(plain, each.verb, "/", each.headers);
        fields headers = each.headers;
        headers.emplace_back("Authorization", "Bearer 0123456789abcdef");
        const unsigned within = co_await status_of(guarded, each.verb, "/", headers);
        std::string shown = std::string(http::name_of(each.verb));
        for (const auto& [name, value] : each.headers) {
            shown += " " + name + ": " + value;
        }
        EXPECT_EQ(without, each.expected) << shown;
        EXPECT_EQ(within, each.expected) << shown;
    }
    const fields named{{"Host", "Build-Machine:80"}};
    const unsigned by_name = co_await status_of(plain, method::get, "/", named);
    EXPECT_EQ(by_name, 200U);
}

WEIR_TEST(ServiceAccess, NothingWithoutTheToken) {
    http::router app = make({.tokens = tokens});
    const auto bearer = [](const std::string& token) {
        return fields{{"Authorization", "Bearer " + token}};
    };
    for (const std::string_view each : tokens) {
        const fields headers = bearer(std::string(each));
        const unsigned in = co_await status_of(app, method::post, "/", headers, "10.1.2.3:5000");
        EXPECT_EQ(in, 200U);
    }
    const std::vector<fields> wrong = {
        {},
        bearer("0123456789abcdeg"),
        bearer("0123456789abcde"),
        bearer("0123456789abcdef0"),
        {{"Authorization", "Basic MDEyMzQ1Njc4OWFiY2RlZg=="}},
        {{"Cookie", "token=0123456789abcdef"}},
        {{"Sec-WebSocket-Protocol", "weir.token."}},
        {{"Sec-WebSocket-Protocol", "weir.token.!!"}},
        {{"Sec-WebSocket-Protocol", "weir.token.MDEyMzQ1Njc4OWFiY2RlZw"}},
        {{"Sec-WebSocket-Protocol", "xweir.token.MDEyMzQ1Njc4OWFiY2RlZg"}}};
    for (const fields& request_headers : wrong) {
        for (const char* path : {"/", "/events", "/nothing", "/?token=0123456789abcdef"}) {
            const http::response answer = co_await ask(app, method::get, path, request_headers);
            EXPECT_EQ(answer.status(), http::status::unauthorized) << path;
            EXPECT_EQ(std::string(answer.body().text()).find("0123456789abcde"), std::string::npos);
            EXPECT_TRUE(answer.headers().contains("WWW-Authenticate"));
        }
        const unsigned page = co_await status_of(app, method::get, "/page", request_headers);
        EXPECT_EQ(page, 200U);
    }
    // As a page sends it.
    for (const std::string coded : {"MDEyMzQ1Njc4OWFiY2RlZg", "YW5vdGhlci10b2tlbi0vKz09"}) {
        const fields request_headers{
            {"Upgrade", "websocket"},
            {"Origin", origin},
            {"Sec-WebSocket-Protocol", "weir.events, weir.token." + coded}};
        const unsigned in = co_await status_of(app, method::get, "/events", request_headers);
        EXPECT_EQ(in, 200U) << coded;
    }
}

TEST(ServiceAccess, OptionsThatMakeNoSenseAreRefused) {
    static constexpr std::array<std::string_view, 1> small = {"hunter2"};
    static constexpr std::array<std::string_view, 1> odd = {"a token with blanks in it"};
    static constexpr std::array<std::string_view, 2> twice = {tokens[0], tokens[0]};
    static constexpr std::array<std::string_view, 1> no_origin = {"tasks.example.com"};
    const access_options bad[] = {
        {.tokens = small}, {.tokens = odd}, {.tokens = twice}, {.origins = no_origin}};
    for (const access_options& each : bad) {
        try {
            access_control access(each);
            ADD_FAILURE() << "taken";
        } catch (const weir::invalid_argument& error) {
            for (const std::string_view secret : each.tokens) {
                EXPECT_EQ(std::string(error.what()).find(secret), std::string::npos);
            }
        }
    }
}

TEST(ServiceAccess, AnOpenDoorNeedsAToken) {
    for (const char* each : {"127.0.0.1:80", "[::1]:80", "127.5.5.5:80", "unix:/run/weir.sock"}) {
        EXPECT_NO_THROW(check_exposure(io::address::parse(each), {})) << each;
    }
    for (const char* each : {":8080", "0.0.0.0:8080", "[::]:8080", "192.168.1.5:8080"}) {
        try {
            check_exposure(io::address::parse(each), {});
            ADD_FAILURE() << each;
        } catch (const weir::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find("Set a token, or listen on 127.0.0.1:8080"),
                      std::string::npos)
                << error.what();
        }
        EXPECT_NO_THROW(check_exposure(io::address::parse(each), {.tokens = tokens}));
    }
}
