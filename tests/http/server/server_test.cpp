// SPDX-License-Identifier: MIT
// What a server does for clients that behave: keep-alive, pipelining, bodies both ways, streams.

#include "conversation.hpp"

#include <weir/generator.hpp>

namespace {

using namespace std::chrono_literals;
using http_test::answer;
using http_test::conversation;
namespace http = weir::http;

http::response says_where(http::request& incoming) {
    return http::response::text(std::string(incoming.method_name()) + " " +
                                std::string(incoming.target()));
}

weir::task<http::response> echoes(http::request& incoming) {
    std::string body = co_await incoming.text();
    co_return http::response::text(std::move(body));
}

WEIR_TEST(Server, AnswersAndKeepsTheConnection) {
    conversation talk(says_where);
    for (int i = 0; i < 3; ++i) {
        co_await talk.say("GET /" + std::to_string(i) + "?q HTTP/1.1\r\nHost: a\r\n\r\n");
        const answer got = co_await talk.answers.next();
        EXPECT_EQ(got.status, 200);
        EXPECT_EQ(got.body, "GET /" + std::to_string(i) + "?q");
        EXPECT_EQ(got.headers.get("content-type"), "text/plain; charset=utf-8");
        EXPECT_EQ(got.headers.get("date").size(), 29U);
        EXPECT_FALSE(got.headers.contains("connection"));
    }
    EXPECT_FALSE(talk.serving.done());
    co_await talk.client().close_write();
    co_await talk.serving.wait();
    co_await talk.end();
}

WEIR_TEST(Server, AnswersPipelinedRequestsInTheirOrder) {
    conversation talk(echoes);
    std::string all;
    for (int i = 0; i < 50; ++i) {
        const std::string body = std::string(static_cast<std::size_t>(i), 'x') + std::to_string(i);
        all += "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
               "\r\n\r\n" + body;
    }
    co_await talk.say(all);
    for (int i = 0; i < 50; ++i) {
        const answer got = co_await talk.answers.next();
        EXPECT_EQ(got.body, std::string(static_cast<std::size_t>(i), 'x') + std::to_string(i));
    }
    co_await talk.end();
}

WEIR_TEST(Server, ClosesWhenItIsAskedTo) {
    const std::string of_1_1 = co_await http_test::everything_said_to(
        "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
        says_where);
    EXPECT_NE(of_1_1.find("Connection: close\r\n"), std::string::npos);
    EXPECT_EQ(of_1_1.find("/b"), std::string::npos);
    const std::string of_1_0 = co_await http_test::everything_said_to(
        "GET /a HTTP/1.0\r\n\r\nGET /b HTTP/1.0\r\n\r\n", says_where);
    EXPECT_NE(of_1_0.find("GET /a"), std::string::npos);
    EXPECT_EQ(of_1_0.find("/b"), std::string::npos);
    const std::string kept = co_await http_test::everything_said_to(
        "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n", says_where);
    EXPECT_NE(kept.find("Connection: keep-alive\r\n"), std::string::npos);
    EXPECT_NE(kept.find("GET /b"), std::string::npos);
    // By the handler, and by the limit of requests.
    auto says_close = [](http::request&) {
        return http::response::text("x").with("Connection", "close");
    };
    const std::string by_handler = co_await http_test::everything_said_to(
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n", says_close);
    EXPECT_EQ(by_handler.find("HTTP/1.1"), by_handler.rfind("HTTP/1.1"));
    const std::string by_limit = co_await http_test::everything_said_to(
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n", says_where,
        {.max_requests = 1});
    EXPECT_EQ(by_limit.find("HTTP/1.1 200"), by_limit.rfind("HTTP/1.1 200"));
    EXPECT_NE(by_limit.find("Connection: close\r\n"), std::string::npos);
}

WEIR_TEST(Server, SaysNothingBehindTheHeadersOfHead) {
    conversation talk([](http::request& incoming) {
        if (incoming.path() == "/stream") {
            return http::response::stream("text/plain", [](http::body_writer&) -> weir::task<> {
                ADD_FAILURE() << "nobody wants it";
                co_return;
            });
        }
        return http::response::text("12345");
    });
    co_await talk.say(
        "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer head = co_await talk.answers.next(true);
    EXPECT_EQ(head.headers.get("content-length"), "5");
    const answer stream = co_await talk.answers.next(true);
    EXPECT_EQ(stream.headers.get("transfer-encoding"), "chunked");
    const answer get = co_await talk.answers.next();
    EXPECT_EQ(get.body, "12345");
    co_await talk.end();
}

WEIR_TEST(Server, ReadsBodiesOfEitherFraming) {
    conversation talk(echoes);
    co_await talk.say(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n7;ext=1\r\n, world\r\n0\r\nTrailer: x\r\n\r\n"
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    const answer chunked = co_await talk.answers.next();
    EXPECT_EQ(chunked.body, "hello, world");
    const answer counted = co_await talk.answers.next();
    EXPECT_EQ(counted.body, "abc");
    co_await talk.end();
}

WEIR_TEST(Server, SkipsABodyThatNobodyReads) {
    conversation talk(says_where);
    co_await talk.say("POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n");
    const answer first = co_await talk.answers.next();
    EXPECT_EQ(first.body, "POST /1");
    co_await talk.say(std::string(20'000, 'x'));
    co_await talk.say(
        "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        "GET /3 HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer second = co_await talk.answers.next();
    EXPECT_EQ(second.body, "POST /2");
    const answer third = co_await talk.answers.next();
    EXPECT_EQ(third.body, "GET /3");
    // One that is too long ends the connection, and says so.
    co_await talk.say("POST /4 HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n");
    const answer last = co_await talk.answers.next();
    EXPECT_EQ(last.headers.get("connection"), "close");
    co_await talk.end();
}

WEIR_TEST(Server, SaysContinueWhenTheBodyIsWanted) {
    conversation talk(echoes);
    co_await talk.say(
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    const answer go = co_await talk.answers.next();
    EXPECT_EQ(go.status, 100);
    co_await talk.say("hello");
    const answer got = co_await talk.answers.next();
    EXPECT_EQ(got.body, "hello");
    EXPECT_FALSE(got.headers.contains("connection"));
    // Without 100 Continue the client may or may not send the body, so the connection ends.
    conversation other(says_where);
    co_await other.say(
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    const answer refused = co_await other.answers.next();
    EXPECT_EQ(refused.status, 200);
    EXPECT_EQ(refused.headers.get("connection"), "close");
    co_await other.end();
    co_await talk.end();
}

weir::task<> writes_pieces(http::body_writer& out) {
    for (const std::size_t size : {1U, 15U, 16'383U, 16'384U, 100'000U, 3U, 0U, 70'000U}) {
        co_await out.write(std::string(size, static_cast<char>('a' + size % 26)));
        if (size % 2 == 1) {
            co_await out.flush();
        }
    }
}

WEIR_TEST(Server, StreamsAnswers) {
    std::string whole;
    for (const std::size_t size : {1U, 15U, 16'383U, 16'384U, 100'000U, 3U, 0U, 70'000U}) {
        whole += std::string(size, static_cast<char>('a' + size % 26));
    }
    conversation talk([&](http::request& incoming) {
        return incoming.path() == "/known"
                   ? http::response::stream("text/plain", writes_pieces, whole.size())
                   : http::response::stream("text/plain", writes_pieces);
    });
    co_await talk.say(
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /known HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET / HTTP/1.0\r\n\r\n");
    const answer chunked = co_await talk.answers.next();
    EXPECT_TRUE(chunked.is_whole);
    EXPECT_EQ(chunked.body, whole);
    const answer known = co_await talk.answers.next();
    EXPECT_EQ(known.headers.get("content-length"), std::to_string(whole.size()));
    EXPECT_EQ(known.body, whole);
    const answer old = co_await talk.answers.next();
    EXPECT_FALSE(old.headers.contains("transfer-encoding"));
    EXPECT_EQ(old.headers.get("connection"), "close");
    EXPECT_EQ(old.body, whole);
    co_await talk.end();
}

WEIR_TEST(Server, StreamsBothWaysAtOnce) {
    conversation talk([](http::request& incoming) {
        return http::response::stream(
            "text/plain", [&incoming](http::body_writer& out) -> weir::task<> {
                char buffer[100];
                for (;;) {
                    const std::size_t count = co_await incoming.read(buffer);
                    if (count == 0) {
                        co_return;
                    }
                    co_await out.write(weir::io::bytes(buffer).first(count));
                    co_await out.flush();
                }
            });
    });
    co_await talk.say(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
    co_await weir::sleep(1s);
    co_await talk.say("2\r\ncd\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer got = co_await talk.answers.next();
    EXPECT_EQ(got.body, "abcd");
    const answer empty = co_await talk.answers.next();
    EXPECT_EQ(empty.body, "");
    EXPECT_TRUE(empty.is_whole);
    co_await talk.end();
}

WEIR_TEST(Server, AStreamThatFailsIsSeenAsBrokenOff) {
    weir::testing::expect_report(weir::report_kind::suppressed_error, "disk on fire", 2);
    weir::testing::expect_report(weir::report_kind::suppressed_error, "its declared size", 2);
    for (const bool has_size : {false, true}) {
        conversation talk([has_size](http::request&) {
            auto fails = [](http::body_writer& out) -> weir::task<> {
                co_await out.write("some of it");
                co_await out.flush();
                throw std::runtime_error("disk on fire");
            };
            return has_size ? http::response::stream("text/plain", fails, 100)
                            : http::response::stream("text/plain", fails);
        });
        co_await talk.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        const answer got = co_await talk.answers.next();
        EXPECT_FALSE(got.is_whole);
        co_await talk.serving.wait();
        co_await talk.end();
    }
    // A size that is not kept to.
    for (const std::size_t announced : {3U, 30U}) {
        conversation talk([announced](http::request&) {
            return http::response::stream(
                "text/plain",
                [](http::body_writer& out) -> weir::task<> { co_await out.write("0123456789"); },
                announced);
        });
        co_await talk.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        const answer got = co_await talk.answers.next();
        EXPECT_FALSE(got.is_whole);
        co_await talk.serving.wait();
        co_await talk.end();
    }
}

WEIR_TEST(Server, ErrorsOfHandlersAreAnswers) {
    weir::testing::expect_report(weir::report_kind::suppressed_error, "GET /bad failed");
    conversation talk([](http::request& incoming) -> http::response {
        if (incoming.path() == "/gone") {
            throw http::problem(http::status::gone, "it \"was\" here\n");
        }
        throw std::runtime_error("the password is 1234");
    });
    co_await talk.say("GET /gone HTTP/1.1\r\nHost: a\r\n\r\nGET /bad HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer gone = co_await talk.answers.next();
    EXPECT_EQ(gone.status, 410);
    EXPECT_EQ(gone.headers.get("content-type"), "application/problem+json");
    EXPECT_NE(gone.body.find(R"(it \"was\" here)"), std::string::npos) << gone.body;
    const answer bad = co_await talk.answers.next();
    EXPECT_EQ(bad.status, 500);
    EXPECT_EQ(bad.body.find("1234"), std::string::npos);
    co_await talk.end();
}

WEIR_TEST(Server, HandsAConnectionOver) {
    conversation talk([](http::request&) {
        return http::response::upgrade("shouting", [](http::upgraded peer) -> weir::task<> {
            std::string heard = peer.received;
            char buffer[10];
            while (heard.size() < 10) {
                const std::size_t count = co_await peer.stream.read(buffer);
                heard.append(buffer, count);
            }
            co_await peer.stream.write("HEARD " + heard);
        });
    });
    co_await talk.say(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: shouting\r\n\r\n01234");
    const answer head = co_await talk.answers.next();
    EXPECT_EQ(head.status, 101);
    EXPECT_EQ(head.headers.get("upgrade"), "shouting");
    EXPECT_EQ(head.headers.get("connection"), "Upgrade");
    co_await talk.say("56789");
    const std::string heard = co_await talk.answers.rest();
    EXPECT_EQ(heard, "HEARD 0123456789");
    co_await talk.serving.wait();
    co_await talk.end();
}

WEIR_TEST(Server, DrainsWithAnAnswerToWhatIsUnderWay) {
    weir::event go;
    conversation idle(says_where);
    conversation busy([&go](http::request&) -> weir::task<http::response> {
        co_await go.wait();
        co_return http::response::text("done");
    });
    co_await idle.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    co_await idle.answers.next();
    co_await busy.say("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    co_await weir::sleep(1s);
    idle.session.drain();
    busy.session.drain();
    co_await idle.serving.wait();
    go.set();
    const answer got = co_await busy.answers.next();
    EXPECT_EQ(got.body, "done");
    EXPECT_EQ(got.headers.get("connection"), "close");
    const std::string rest = co_await busy.answers.rest();
    EXPECT_EQ(rest, "");
    co_await busy.end();
    co_await idle.end();
}

}  // namespace
