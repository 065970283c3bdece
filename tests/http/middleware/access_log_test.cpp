// SPDX-License-Identifier: MIT
// Records of requests: of answers, failures and streams, and lines that no client can forge.

#include <weir/error.hpp>
#include <weir/http/access_log.hpp>
#include <weir/http/bearer_auth.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/request_id.hpp>
#include <weir/http/router.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

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

std::string brief(const access_record& record) {
    return std::string(record.method) + " " + std::string(record.target) + " " +
           (record.code ? std::to_string(number_of(*record.code)) : "-") + " " +
           (record.bytes ? std::to_string(*record.bytes) : "-") + " " +
           std::to_string(record.duration / 1ms) + "ms " + std::string(record.route) + " " +
           std::string(record.principal) + " " + std::string(record.request_id);
}

TEST(AccessLog, LinesCannotBeForged) {
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

    // For every request, an entry is one line of printable characters with three quoted texts.
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

WEIR_TEST(AccessLog, RecordsResponsesAndFailures) {
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
        request incoming(which, target);
        incoming.headers().set("X-Request-Id", "id7");
        incoming.headers().set("Authorization", "Bearer " + std::string(token));
        co_await app(incoming);
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

WEIR_TEST(AccessLog, RecordsStreamsWhenTheyEnd) {
    std::vector<std::string> lines;
    http::access_log log([&](const access_record& record) { lines.push_back(brief(record)); });
    http::handler app = http::with(log, [](request& incoming) {
        const bool fails = incoming.target() == "/fails";
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
        request incoming(which, target);
        response answer = co_await app(incoming);
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

WEIR_TEST(AccessLog, ReportsASinkThatThrows) {
    weir::testing::expect_report(report_kind::callback_error, "sink of access_log");
    http::handler app =
        http::with(http::access_log([](std::string_view) { throw std::runtime_error("full"); }),
                   [] { return response::text("fine"); });
    request incoming(method::get, "/");
    const response answer = co_await app(incoming);
    EXPECT_EQ(answer.body().text(), "fine");
}

}  // namespace
