// SPDX-License-Identifier: MIT
// What one request leaves behind for the next: nothing, however it ended.

#include "conversation.hpp"

#include <string>

namespace {

using namespace std::chrono_literals;
using http_test::answer;
using http_test::conversation;
namespace http = weir::http;

http::response says_ok(http::request&) {
    return http::response::text("ok");
}

// A handler that gives up a write, and writes on: the part that went out already would go out
// again.
WEIR_TEST(Server, NothingFollowsAWriteThatWasStopped) {
    for (const bool minds : {true, false}) {
        bool was_refused = false;
        conversation talk([&](http::request&) {
            return http::response::stream("text/plain",
                                          [&](http::body_writer& out) -> weir::task<> {
                                              const std::string much(500'000, 'x');
                                              weir::cancel_scope hasty(1s);
                                              const bool done = co_await hasty.run(out.write(much));
                                              EXPECT_FALSE(done);
                                              try {
                                                  co_await out.write(std::string(20'000, 'y'));
                                              } catch (const weir::io_error&) {
                                                  was_refused = true;
                                                  if (minds) {
                                                      throw;
                                                  }
                                              }
                                          });
        });
        co_await talk.say("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
        co_await weir::sleep(2s);
        const answer got = co_await talk.answers.next();
        EXPECT_TRUE(was_refused);
        EXPECT_FALSE(got.is_whole);
        EXPECT_EQ(got.body.find('y'), std::string::npos);
        const std::string rest = co_await talk.answers.rest();
        EXPECT_EQ(rest, "");
        co_await talk.end();
    }
}

// The same with the line that lets a client send its body.
WEIR_TEST(Server, ALineThatWasStoppedIsNotSaidAgain) {
    weir::testing::network_options narrow;
    narrow.link.window = 10;
    conversation talk(
        [](http::request& incoming) -> weir::task<http::response> {
            weir::cancel_scope hasty(1s);
            const auto body = co_await hasty.run(incoming.text());
            co_return http::response::text(body.value_or("too slow"));
        },
        {}, narrow);
    auto asks = [&]() -> weir::task<> {
        co_await talk.say(
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    };
    co_await asks();
    co_await weir::sleep(5s);
    const std::string rest = co_await talk.answers.rest();
    EXPECT_TRUE(std::string_view("HTTP/1.1 100 Continue\r\n\r\n").starts_with(rest)) << rest;
    co_await talk.end();
}

WEIR_TEST(Server, ABodyThatIsLostDoesNotLookWhole) {
    conversation talk([](http::request& incoming) -> weir::task<http::response> {
        weir::cancel_scope hasty(1s);
        const auto first = co_await hasty.run(incoming.text());
        EXPECT_FALSE(first.has_value());
        std::string rest = co_await incoming.text();
        co_return http::response::text(std::move(rest));
    });
    co_await talk.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
    co_await weir::sleep(2s);
    co_await talk.say("67890GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer got = co_await talk.answers.next();
    EXPECT_EQ(got.status, 400);
    EXPECT_EQ(got.headers.get("connection"), "close");
    const std::string rest = co_await talk.answers.rest();
    EXPECT_EQ(rest, "");
    co_await talk.end();
}

// What a middleware said of one request is not said of the next.
WEIR_TEST(Server, RequestsOfOneConnectionHaveNothingInCommon) {
    conversation talk([](http::request& incoming) {
        const bool is_known = incoming.client_address().is_ip() ||
                              incoming.attached<int>() != nullptr || !incoming.route().empty() ||
                              !incoming.param("name").empty();
        incoming.set_client_address(weir::io::address::parse("192.0.2.7:1"));
        incoming.attach(1);
        incoming.set_route("/{name}");
        incoming.add_param("name", "value");
        return http::response::text(is_known ? "known" : "new");
    });
    for (int i = 0; i < 2; ++i) {
        co_await talk.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        const answer got = co_await talk.answers.next();
        EXPECT_EQ(got.body, "new");
    }
    co_await talk.end();
}

WEIR_TEST(Server, AnswersThatEndNoRequestAreRefused) {
    weir::testing::expect_report(weir::report_kind::suppressed_error, "cannot end a request", 2);
    conversation talk([](http::request& incoming) {
        return http::response(incoming.path() == "/100" ? http::status::continue_
                                                        : static_cast<http::status>(101));
    });
    co_await talk.say("GET /100 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer first = co_await talk.answers.next();
    EXPECT_EQ(first.status, 500);
    const answer second = co_await talk.answers.next();
    EXPECT_EQ(second.status, 500);
    co_await talk.end();
    // A proxy that saw a CONNECT succeed passes on all bytes that follow.
    conversation tunnel(says_ok);
    co_await tunnel.say(
        "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer connected = co_await tunnel.answers.next();
    EXPECT_EQ(connected.headers.get("connection"), "close");
    const std::string rest = co_await tunnel.answers.rest();
    EXPECT_EQ(rest, "");
    co_await tunnel.end();
    EXPECT_THROW(http::with(http::middleware(), says_ok), weir::invalid_argument);
    auto passes = [](http::request& incoming, http::next next) { return next(incoming); };
    EXPECT_THROW(http::with(passes, http::handler()), weir::invalid_argument);
}

}  // namespace
