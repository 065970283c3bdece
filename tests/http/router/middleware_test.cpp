// SPDX-License-Identifier: MIT
// Middleware without a server: records of requests that no client can forge, limits of size and
// time, pages of others, ids; and all of it stopped at any moment.

#include <support/schedules.hpp>

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/http/access_log.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/bearer_auth.hpp>
#include <weir/http/body_limit.hpp>
#include <weir/http/client_limit.hpp>
#include <weir/http/cors.hpp>
#include <weir/http/deadline.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/request_id.hpp>
#include <weir/http/router.hpp>
#include <weir/http/trusted_proxies.hpp>
#include <weir/outcome.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using http::access_record;
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

// ---- records
// -------------------------------------------------------------------------------------

std::string brief(const access_record& record) {
    return std::string(record.method) + " " + std::string(record.target) + " " +
           (record.code ? std::to_string(number_of(*record.code)) : "-") + " " +
           (record.bytes ? std::to_string(*record.bytes) : "-") + " " +
           std::to_string(record.duration / 1ms) + "ms " + std::string(record.route) + " " +
           std::string(record.principal) + " " + std::string(record.request_id);
}

TEST(AccessLog, Line) {
    access_record record;
    record.time = std::chrono::system_clock::time_point(std::chrono::seconds(971186136)) + 999ms;
    record.client = io::address::parse("192.0.2.7:1234");
    record.method = "GET";
    record.target = "/a?b=c";
    EXPECT_EQ(http::to_line(record),
              "192.0.2.7 - - [10/Oct/2000:13:55:36 +0000] \"GET /a?b=c HTTP/1.1\" - - \"-\" \"-\" "
              "0.000000");
    record.principal = "alice the \"great\"";
    record.code = status::ok;
    record.bytes = 2326;
    record.duration = 12'345'678'900ns;
    record.minor_version = 0;
    record.client = io::address::parse("[2001:db8::1]:1");
    record.referer = "http://x/\r\n127.0.0.1 - - forged";
    record.user_agent = std::string_view("a\"b\\c\x1b[31m\0\x7f\xc3\xa9\t", 15);
    EXPECT_EQ(http::to_line(record),
              "2001:db8::1 - alice\\x20the\\x20\\\"great\\\" [10/Oct/2000:13:55:36 +0000] "
              "\"GET /a?b=c HTTP/1.0\" 200 2326 \"http://x/\\r\\n127.0.0.1 - - forged\" "
              "\"a\\\"b\\\\c\\x1b[31m\\x00\\x7f\\xc3\\xa9\\t\" 12.345678");
    record.client = io::address::local("/run/x");
    EXPECT_TRUE(http::to_line(record).starts_with("unix: - "));

    // Whatever is sent, a line is one line of printable characters with three quoted texts.
    std::mt19937 random(11);
    for (int round = 0; round < 3'000; ++round) {
        std::string texts[5];
        for (std::string& each : texts) {
            for (unsigned size = random() % 12; size > 0; --size) {
                each += random() % 3 == 0 ? "\"\\ \n"[random() % 4] : static_cast<char>(random());
            }
        }
        record.method = texts[0];
        record.target = texts[1];
        record.principal = texts[2];
        record.referer = texts[3];
        record.user_agent = texts[4];
        const std::string line = http::to_line(record);
        int quotes = 0;
        bool is_escaped = false;
        for (const char each : line) {
            ASSERT_TRUE(each >= ' ' && each <= '~') << line;
            quotes += each == '"' && !is_escaped ? 1 : 0;
            is_escaped = each == '\\' && !is_escaped;
        }
        ASSERT_EQ(quotes, 6) << line;
    }
}

WEIR_TEST(AccessLog, RecordsAnswersAndFailures) {
    std::vector<std::string> lines;
    http::router app;
    app.use(http::access_log([&](const access_record& record) { lines.push_back(brief(record)); }));
    app.use(http::request_ids());
    http::bearer_auth auth;
    auth.token("t", "alice");
    app.use(auth);
    app.get("/slow/{id}", [](request&) -> task<response> {
        co_await sleep(250ms);
        co_return response::text("12345");
    });
    app.get("/gone", [](request&) -> response { throw http::problem(status::gone, "x"); });
    app.get("/empty", [] { return response(status::no_content); });

    const auto ask = [&](method which, std::string_view target,
                         std::string_view token = "t") -> task<> {
        request asked(which, target);
        asked.headers().set("X-Request-Id", "id7");
        asked.headers().set("Authorization", "Bearer " + std::string(token));
        co_await app(asked);
    };
    co_await ask(method::get, "/slow/7?x");
    co_await ask(method::head, "/slow/7");
    co_await ask(method::get, "/empty");
    co_await ask(method::get, "/gone");
    co_await ask(method::get, "/none", "wrong");
    WEIR_ASSERT_EQ(lines.size(), 5u);
    EXPECT_EQ(lines[0], "GET /slow/7?x 200 5 250ms /slow/{id} alice id7");
    EXPECT_EQ(lines[1], "HEAD /slow/7 200 0 250ms /slow/{id} alice id7");
    EXPECT_EQ(lines[2], "GET /empty 204 0 0ms /empty alice id7");
    EXPECT_EQ(lines[3].substr(0, 13), "GET /gone 410");
    EXPECT_EQ(lines[4].substr(0, 13), "GET /none 401");
    EXPECT_TRUE(lines[4].ends_with("0ms   id7")) << lines[4];

    // A client that has gone: stopped where it was, and recorded.
    const auto stopped = spawn(ask, method::get, "/slow/8", "t");
    co_await weir::testing::advance(100ms);
    stopped.cancel();
    co_await stopped.wait();
    WEIR_ASSERT_EQ(lines.size(), 6u);
    EXPECT_EQ(lines[5], "GET /slow/8 - - 100ms /slow/{id} alice id7");
}

class string_writer final : public http::body_writer {
public:
    task<> write(io::const_bytes data) override {
        text.append(reinterpret_cast<const char*>(data.data()), data.size());
        co_await sleep(1s);
    }
    task<> flush() override { co_return; }
    std::string text;
};

WEIR_TEST(AccessLog, StreamsWhenTheyEnd) {
    std::vector<std::string> lines;
    http::access_log log([&](const access_record& record) { lines.push_back(brief(record)); });
    http::handler app = http::with(log, [](request& asked) {
        const bool fails = asked.target() == "/fails";
        return response::stream("text/plain", [fails](http::body_writer& out) -> task<> {
            co_await out.write("12345");
            if (fails) {
                throw std::runtime_error("x");
            }
            co_await out.write("678");
            co_await out.flush();
        });
    });
    string_writer out;
    const auto ask = [&](method which, std::string target) -> task<response> {
        request asked(which, target);
        response answer = co_await app(asked);
        co_return answer;
    };
    {
        response answer = co_await ask(method::get, "/a/target/that/is/not/short");
        EXPECT_TRUE(lines.empty());
        co_await answer.body().as_stream()->write(out);
        EXPECT_EQ(out.text, "12345678");
    }
    WEIR_ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0], "GET /a/target/that/is/not/short 200 8 2000ms   ");
    {
        response answer = co_await ask(method::get, "/fails");
        auto send = [&]() -> task<> { co_await answer.body().as_stream()->write(out); };
        WEIR_EXPECT_THROW(send(), std::runtime_error);
    }
    WEIR_ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[1], "GET /fails 200 5 1000ms   ");
    // Never sent, for one reason or another.
    co_await ask(method::get, "/dropped");
    WEIR_ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[2], "GET /dropped 200 0 0ms   ");
    co_await ask(method::head, "/head");
    WEIR_ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[3], "HEAD /head 200 0 0ms   ");
}

WEIR_TEST(AccessLog, SinksMayFail) {
    weir::testing::expect_report(report_kind::callback_error, "sink of access_log");
    http::handler app =
        http::with(http::access_log([](std::string_view) { throw std::runtime_error("full"); }),
                   [] { return response::text("fine"); });
    request asked(method::get, "/");
    const response answer = co_await app(asked);
    EXPECT_EQ(answer.body().text(), "fine");
}

// ---- how much and how long
// -----------------------------------------------------------------------

WEIR_TEST(BodyLimit, RefusesWhatIsTooLong) {
    http::handler app = http::with(http::body_limit(4), [](request& asked) -> task<response> {
        std::string text = co_await asked.text();
        co_return response::text(std::move(text));
    });
    request small(method::post, "/");
    small.set_body("1234");
    const response answer = co_await app(small);
    EXPECT_EQ(answer.body().text(), "1234");
    request large(method::post, "/");
    large.set_body("12345");
    auto ask = [&]() -> task<> { co_await app(large); };
    WEIR_EXPECT_THROW_WITH(ask(), http::problem, "larger than 4 bytes");
}

WEIR_TEST(Deadline, StopsHandlersAndAwaitsTheirCleanUp) {
    std::string trace;
    auto slow = [&](request&) -> task<response> {
        auto work = [&]() -> task<> {
            co_await sleep(10s);
            trace += "done ";
        };
        auto clean = [&]() -> task<> {
            co_await sleep(1s);
            trace += "cleaned ";
        };
        co_await finally(work, clean);
        co_return response();
    };
    http::handler app = http::with(http::deadline(2s), slow);
    const auto began = now();
    request asked(method::get, "/");
    const response late = co_await app(asked);
    EXPECT_EQ(late.status(), status::service_unavailable);
    EXPECT_EQ(late.content_type(), "application/problem+json");
    EXPECT_EQ(trace, "cleaned ");
    EXPECT_EQ(now() - began, 3s);

    http::handler patient = http::with(http::deadline(20s, status::gateway_timeout), slow);
    const response in_time = co_await patient(asked);
    EXPECT_EQ(in_time.status(), status::ok);
    EXPECT_EQ(trace, "cleaned done cleaned ");

    http::handler hasty = http::with(http::deadline(1ms, status::gateway_timeout), slow);
    const response gateway = co_await hasty(asked);
    EXPECT_EQ(gateway.status(), status::gateway_timeout);
}

WEIR_TEST(Deadline, IsNotMistakenForOthers) {
    auto own = [](request&) -> task<response> {
        co_await timeout(1s, sleep_forever());
        co_return response();
    };
    http::handler app = http::with(http::deadline(5s), own);
    request asked(method::get, "/");
    auto ask = [&]() -> task<> { co_await app(asked); };
    WEIR_EXPECT_TIMEOUT(ask());
    // One around it stops all of it, and no answer is made.
    auto endless = [](request&) -> task<response> {
        co_await sleep_forever();
        co_return response();
    };
    http::handler slow = http::with(http::deadline(5s), endless);
    auto ask_slow = [&]() -> task<> { co_await slow(asked); };
    const auto began = now();
    WEIR_EXPECT_TIMEOUT(timeout(2s, ask_slow));
    EXPECT_EQ(now() - began, 2s);
    EXPECT_THROW(http::deadline(0s), invalid_argument);
    EXPECT_THROW(http::deadline(-1s), invalid_argument);
    EXPECT_THROW(http::deadline(1s, status::ok), invalid_argument);
}

// ---- pages of others
// -----------------------------------------------------------------------------

task<response> asks_as(http::handler& app, method which, std::string_view origin,
                       std::string_view wants = {}, std::string_view wants_headers = {}) {
    request asked(which, "/");
    if (!origin.empty()) {
        asked.headers().set("Origin", origin);
    }
    if (!wants.empty()) {
        asked.headers().set("Access-Control-Request-Method", wants);
    }
    if (!wants_headers.empty()) {
        asked.headers().set("Access-Control-Request-Headers", wants_headers);
    }
    response answer = co_await app(asked);
    co_return answer;
}

WEIR_TEST(Cors, AllowsSomeOrigins) {
    int calls = 0;
    http::handler app = http::with(http::cors()
                                       .allow_origin("https://a.example")
                                       .allow_origin("http://localhost:3000")
                                       .allow_header("Content-Type")
                                       .allow_header("X-Own")
                                       .allow_credentials()
                                       .expose_header("ETag")
                                       .max_age(1h),
                                   [&] {
                                       ++calls;
                                       return response().with("Vary", "Accept-Encoding");
                                   });
    const response good = co_await asks_as(app, method::get, "https://a.example");
    EXPECT_EQ(good.header("Access-Control-Allow-Origin"), "https://a.example");
    EXPECT_EQ(good.header("Access-Control-Allow-Credentials"), "true");
    EXPECT_EQ(good.header("Access-Control-Expose-Headers"), "ETag");
    EXPECT_EQ(good.headers().joined("Vary"), "Accept-Encoding, Origin");
    for (const std::string_view bad :
         {"https://b.example", "http://a.example", "https://a.example.evil", "null",
          "https://a.example:8443", "https://evila.example", ""}) {
        const response other = co_await asks_as(app, method::get, bad);
        EXPECT_EQ(other.status(), status::ok);
        EXPECT_FALSE(other.headers().contains("Access-Control-Allow-Origin")) << bad;
        EXPECT_TRUE(other.headers().lists("Vary", "Origin")) << bad;
    }
    EXPECT_EQ(calls, 8);

    const response before =
        co_await asks_as(app, method::options, "http://localhost:3000", "PUT", "x-own");
    EXPECT_EQ(before.status(), status::no_content);
    EXPECT_EQ(before.header("Access-Control-Allow-Origin"), "http://localhost:3000");
    EXPECT_EQ(before.header("Access-Control-Allow-Methods"), "GET, HEAD, POST, PUT, PATCH, DELETE");
    EXPECT_EQ(before.header("Access-Control-Allow-Headers"), "Content-Type, X-Own");
    EXPECT_EQ(before.header("Access-Control-Max-Age"), "3600");
    EXPECT_EQ(before.headers().joined("Vary"),
              "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
    const response bad_before = co_await asks_as(app, method::options, "https://b.example", "PUT");
    EXPECT_FALSE(bad_before.headers().contains("Access-Control-Allow-Origin"));
    EXPECT_FALSE(bad_before.headers().contains("Access-Control-Allow-Methods"));
    EXPECT_EQ(calls, 8);
    const response plain_options = co_await asks_as(app, method::options, "https://a.example");
    EXPECT_EQ(plain_options.status(), status::ok);
    EXPECT_EQ(calls, 9);
}

WEIR_TEST(Cors, AnyOriginAndRules) {
    http::handler any = http::with(
        http::cors().allow_any_origin().allow_any_header().allow_method("GET").allow_method(
            "QUERY"),
        throws_gone());
    const response failed = co_await asks_as(any, method::get, "https://x.example");
    EXPECT_EQ(failed.status(), status::gone);  // errors can be read, too
    EXPECT_EQ(failed.header("Access-Control-Allow-Origin"), "*");
    EXPECT_FALSE(failed.headers().contains("Vary"));
    const response before =
        co_await asks_as(any, method::options, "https://x.example", "QUERY", "authorization, x-a");
    EXPECT_EQ(before.header("Access-Control-Allow-Headers"), "authorization, x-a");
    EXPECT_EQ(before.header("Access-Control-Allow-Methods"), "GET, QUERY");
    const response strange =
        co_await asks_as(any, method::options, "https://x.example", "GET", "a\xff: b");
    EXPECT_FALSE(strange.headers().contains("Access-Control-Allow-Headers"));

    http::handler ruled =
        http::with(http::cors().allow_credentials().allow_origins_if(
                       [](std::string_view origin) { return origin.ends_with(".example.com"); }),
                   says_ok());
    const response good = co_await asks_as(ruled, method::get, "https://a.example.com");
    EXPECT_EQ(good.header("Access-Control-Allow-Origin"), "https://a.example.com");
    const response bad = co_await asks_as(ruled, method::get, "https://a.example.org");
    EXPECT_FALSE(bad.headers().contains("Access-Control-Allow-Origin"));
}

TEST(Cors, RefusesWhatWouldBeWrong) {
    EXPECT_THROW(http::cors().allow_any_origin().allow_credentials(), invalid_argument);
    EXPECT_THROW(http::cors().allow_credentials().allow_any_origin(), invalid_argument);
    for (const std::string_view bad : {"*", "", "example.com", "https://", "://a", "null",
                                       "https://a.example/", "https://A.example", "https://a b"}) {
        EXPECT_THROW(http::cors().allow_origin(bad), invalid_argument) << bad;
    }
    EXPECT_THROW(http::cors().allow_method("A B"), invalid_argument);
    EXPECT_THROW(http::cors().allow_header("*"), invalid_argument);
    EXPECT_THROW(http::cors().max_age(-1s), invalid_argument);
    EXPECT_THROW(http::cors().allow_origins_if({}), invalid_argument);
}

// ---- ids
// -----------------------------------------------------------------------------------------

WEIR_TEST(RequestIds, AreTakenOverOrMade) {
    std::string seen;
    http::handler app = http::with(http::request_ids(), [&](request& asked) {
        seen = asked.attached<http::request_id>()->text;
        return response();
    });
    const auto ask = [&](std::string_view given) -> task<std::string> {
        request asked(method::get, "/");
        if (!given.empty()) {
            asked.headers().set("X-Request-Id", given);
        }
        const response answer = co_await app(asked);
        EXPECT_EQ(answer.header("X-Request-Id"), seen);
        co_return std::string(answer.header("X-Request-Id"));
    };
    const std::string kept = co_await ask("a1-B2.c_3:d/e+f=g@h");
    EXPECT_EQ(kept, "a1-B2.c_3:d/e+f=g@h");
    const std::string longest = co_await ask(std::string(128, 'x'));
    EXPECT_EQ(longest.size(), 128u);
    std::string last;
    for (const std::string& bad :
         {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\"b"),
          std::string("a%0ab"), std::string("\xc3\xa9"), std::string("<x>")}) {
        const std::string made = co_await ask(bad);
        EXPECT_EQ(made.size(), 32u);
        EXPECT_EQ(made.find_first_not_of("0123456789abcdef"), std::string::npos);
        EXPECT_NE(made, last);
        last = made;
    }
    http::handler strict = http::with(http::request_ids().ignore_given(), throws_gone());
    request asked(method::get, "/");
    asked.headers().set("X-Request-Id", "given");
    const response answer = co_await strict(asked);
    EXPECT_EQ(answer.status(), status::gone);
    EXPECT_EQ(answer.header("X-Request-Id").size(), 32u);
}

// ---- failures
// ------------------------------------------------------------------------------------

WEIR_TEST(Answered, UnknownErrorsAreReported) {
    weir::testing::expect_report(report_kind::suppressed_error, "GET /x failed: a secret");
    http::handler app = http::with(
        http::request_ids(), [](request&) -> response { throw std::runtime_error("a secret"); });
    request asked(method::get, "/x?password=1");
    const response answer = co_await app(asked);
    EXPECT_EQ(answer.status(), status::internal_server_error);
    EXPECT_EQ(answer.body().text().find("secret"), std::string_view::npos);
}

// ---- all together
// --------------------------------------------------------------------------------

// Requests through all middleware at once, stopped at any moment, or too late by themselves: each
// is recorded once, and what was begun has ended.
TEST(Middleware, StoppedAnywhere) {
    int stopped = 0;
    int late = 0;
    schedules::expect_under(150, [&]() -> task<> {
        schedules::dice random;
        int begun = 0;
        int cleaned = 0;
        int entered = 0;
        int records = 0;
        http::router app;
        app.use(http::access_log([&](const access_record& record) {
            ++records;
            stopped += record.code ? 0 : 1;
            late += record.code == status::service_unavailable ? 1 : 0;
        }));
        app.use(http::request_ids());
        app.use(http::cors().allow_any_origin());
        app.use(http::trusted_proxies().trust("10.0.0.0/8"));
        http::bearer_auth auth;
        auth.checked_by([&](std::string_view) -> task<std::optional<http::principal>> {
            co_await schedules::pause(random, 20);
            if (random.one_in(5)) {
                co_return std::nullopt;
            }
            co_return http::principal{"someone", {}};
        });
        app.use(auth);
        app.use(http::client_limit({.rate = 1, .burst = 4}));
        app.use(http::body_limit(100));
        app.use(http::deadline(15ms));
        app.post("/{id}", [&](request& asked) -> task<response> {
            ++begun;
            auto work = [&]() -> task<std::string> {
                co_await schedules::pause(random, 30);
                co_return co_await asked.text();
            };
            auto clean = [&]() -> task<> {
                co_await schedules::pause(random, 10);
                ++cleaned;
            };
            std::string text = co_await finally(work, clean);
            if (random.one_in(4)) {
                throw http::problem(status::conflict, text);
            }
            co_return response::text(std::move(text));
        });
        const auto ask = [&]() -> task<> {
            request asked(method::post, "/7");
            asked.headers().set("Authorization", "Bearer x");
            asked.set_body("text");
            ++entered;
            co_await app(asked);
        };
        std::vector<handle<void>> asking;
        for (int i = 0; i < 6; ++i) {
            asking.push_back(spawn(ask));
        }
        for (const auto& each : asking) {
            co_await schedules::pause(random, 20);
            if (random.one_in(2)) {
                each.cancel();
            }
        }
        for (const auto& each : asking) {
            (void)co_await settle(each.wait());
        }
        EXPECT_EQ(records, entered);
        EXPECT_EQ(begun, cleaned);
    });
    EXPECT_GT(stopped, 25);
    EXPECT_GT(late, 25);
}

}  // namespace
