// SPDX-License-Identifier: MIT
// A client that leaves stops the handler of its request; a client that only ends its own direction
// gets its answer.

#include "conversation.hpp"
#include <support/io.hpp>

#include <weir/cancel.hpp>
#include <weir/finally.hpp>
#include <weir/io/io.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>
#include <weir/time.hpp>

#include <chrono>
#include <string>

namespace client_watch_test {

using namespace std::chrono_literals;
using http_test::answer;
using http_test::conversation;
namespace http = weir::http;

constexpr const char* request_text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

// A handler that takes its time, and what became of its calls.
struct slow_handler {
    std::chrono::milliseconds takes{10'000};
    int begun = 0;
    int answered = 0;
    int stopped = 0;

    http::handler handler() {
        return [this](http::request&) -> weir::task<http::response> {
            ++begun;
            bool is_done = false;
            auto count = [this, &is_done]() -> weir::task<> {
                ++(is_done ? answered : stopped);
                co_return;
            };
            auto work = [this, &is_done]() -> weir::task<> {
                co_await weir::sleep(takes);
                is_done = true;
            };
            co_await weir::finally(work(), count);
            co_return http::response::text("done");
        };
    }
};

enum class end_of_client { close, half_close, reset };

void leave(weir::testing::simulated_stream& client, end_of_client how) {
    if (how == end_of_client::reset) {
        client.reset();
    } else {
        client.close();
    }
}

WEIR_TEST(ClientWatch, AClientThatLeavesStopsItsHandler) {
    for (const end_of_client how : {end_of_client::close, end_of_client::reset}) {
        slow_handler slow;
        conversation talk(slow.handler());
        co_await talk.say(request_text);
        co_await weir::sleep(1s);
        EXPECT_EQ(slow.begun, 1);
        const auto left = weir::now();
        leave(talk.client(), how);
        co_await talk.serving.wait();
        EXPECT_LT(weir::now() - left, 1s);
        EXPECT_EQ(slow.stopped, 1);
        EXPECT_EQ(slow.answered, 0);
        co_await talk.end();
    }
}

// A handler may ask, and is told before the server stops it.
WEIR_TEST(ClientWatch, AHandlerSeesThatItsClientHasLeft) {
    for (const end_of_client how :
         {end_of_client::close, end_of_client::half_close, end_of_client::reset}) {
        std::string seen;
        http::handler asking = [&seen](http::request& request) -> weir::task<http::response> {
            for (int i = 0; i < 8; ++i) {
                seen += request.is_client_connected() ? '+' : '-';
                co_await weir::sleep(10ms);
            }
            co_return http::response::text("done");
        };
        conversation talk(std::move(asking));
        co_await talk.say(request_text);
        co_await weir::sleep(35ms);
        if (how == end_of_client::half_close) {
            co_await talk.client().close_write();
        } else {
            leave(talk.client(), how);
        }
        co_await weir::sleep(1s);
        EXPECT_TRUE(seen.starts_with("++++-")) << seen;
        EXPECT_EQ(seen.find('+', 4), std::string::npos) << seen;
        co_await talk.end();
    }
    const http::request unconnected;
    EXPECT_TRUE(unconnected.is_client_connected());
}

WEIR_TEST(ClientWatch, AResetStopsTheHandlerAlsoAtTheBeginning) {
    slow_handler slow;
    conversation talk(slow.handler());
    co_await talk.say(request_text);
    co_await weir::sleep(1ms);
    const auto left = weir::now();
    talk.client().reset();
    co_await talk.serving.wait();
    EXPECT_LT(weir::now() - left, 1s);
    EXPECT_EQ(slow.stopped, 1);
    co_await talk.end();
}

WEIR_TEST(ClientWatch, AClientThatSendsNoMoreGetsItsAnswer) {
    for (const std::chrono::milliseconds behind : {0ms, 1ms, 50ms}) {
        slow_handler slow;
        conversation talk(slow.handler());
        co_await talk.say(request_text);
        co_await weir::sleep(behind);
        co_await talk.client().close_write();
        const answer got = co_await talk.answers.next();
        EXPECT_EQ(got.body, "done");
        EXPECT_EQ(slow.answered, 1);
        EXPECT_EQ(slow.stopped, 0);
        co_await talk.end();
    }
}

WEIR_TEST(ClientWatch, AResetAfterTheHalfCloseStopsTheHandler) {
    slow_handler slow;
    conversation talk(slow.handler());
    co_await talk.say(request_text);
    co_await talk.client().close_write();
    co_await weir::sleep(2s);
    EXPECT_EQ(slow.stopped, 0);
    talk.client().reset();
    co_await talk.serving.wait();
    EXPECT_EQ(slow.stopped, 1);
    co_await talk.end();
}

WEIR_TEST(ClientWatch, PipelinedRequests) {
    // All of them, then the end: each is answered.
    slow_handler slow;
    conversation talk(slow.handler());
    co_await talk.say(std::string(request_text) + request_text + request_text);
    co_await talk.client().close_write();
    for (int i = 0; i < 3; ++i) {
        const answer got = co_await talk.answers.next();
        EXPECT_EQ(got.body, "done");
    }
    EXPECT_EQ(slow.answered, 3);
    co_await talk.end();

    // The client leaves during the second: the third never begins.
    slow_handler left;
    conversation other(left.handler());
    co_await other.say(std::string(request_text) + request_text + request_text);
    const answer first = co_await other.answers.next();
    EXPECT_EQ(first.body, "done");
    co_await weir::sleep(1s);
    other.client().close();
    co_await other.serving.wait();
    EXPECT_EQ(left.begun, 2);
    EXPECT_EQ(left.stopped, 1);
    co_await other.end();
}

WEIR_TEST(ClientWatch, EachRequestHasItsOwnGrace) {
    // The watch of an earlier request is still there when the client half-closes behind the second.
    slow_handler slow;
    conversation talk(slow.handler());
    for (int i = 0; i < 2; ++i) {
        co_await talk.say(request_text);
        if (i == 1) {
            co_await talk.client().close_write();
        }
        const answer got = co_await talk.answers.next();
        EXPECT_EQ(got.body, "done");
    }
    EXPECT_EQ(slow.answered, 2);
    co_await talk.end();
}

WEIR_TEST(ClientWatch, TheEndBehindABodyIsNoDeparture) {
    int answered = 0;
    auto reads_slowly = [&](http::request& incoming) -> weir::task<http::response> {
        std::string all;
        char some[16];
        for (;;) {
            const std::size_t count = co_await incoming.read(some);
            if (count == 0) {
                break;
            }
            all.append(some, count);
            co_await weir::sleep(1s);
        }
        ++answered;
        co_return http::response::text(all);
    };
    const std::string body(200, 'b');
    conversation talk(reads_slowly);
    co_await talk.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n" + body);
    co_await weir::sleep(3s);  // long behind the request, but its body has not been read
    co_await talk.client().close_write();
    const answer got = co_await talk.answers.next();
    EXPECT_EQ(got.body, body);
    EXPECT_EQ(answered, 1);
    co_await talk.end();
}

WEIR_TEST(ClientWatch, AStreamThatWaitsEndsWithItsClient) {
    bool has_ended = false;
    auto events = [&](http::request&) {
        return http::response::stream("text/event-stream",
                                      [&](http::body_writer& out) -> weir::task<> {
                                          auto note = [&]() -> weir::task<> {
                                              has_ended = true;
                                              co_return;
                                          };
                                          auto run = [&]() -> weir::task<> {
                                              co_await out.write("data: 1\n\n");
                                              co_await out.flush();
                                              co_await weir::sleep_forever();
                                          };
                                          co_await weir::finally(run(), note);
                                      });
    };
    conversation talk(events);
    co_await talk.say(request_text);
    co_await weir::sleep(1h);
    EXPECT_FALSE(has_ended);
    talk.client().close();
    co_await talk.serving.wait();
    EXPECT_TRUE(has_ended);
    co_await talk.end();
}

WEIR_TEST(ClientWatch, AShieldedHandlerEnds) {
    bool is_done = false;
    auto careful = [&](http::request&) -> weir::task<http::response> {
        auto work = [&]() -> weir::task<> {
            co_await weir::sleep(10s);
            is_done = true;
        };
        co_await weir::shield(work());
        co_return http::response::text("done");
    };
    conversation talk(careful);
    co_await talk.say(request_text);
    co_await weir::sleep(1s);
    talk.client().close();
    co_await talk.serving.wait();
    EXPECT_TRUE(is_done);
    co_await talk.end();
}

WEIR_TEST(ClientWatch, CanBeTurnedOff) {
    slow_handler slow;
    conversation talk(slow.handler(), {.disconnect_grace = weir::clock::duration::max()});
    co_await talk.say(request_text);
    co_await weir::sleep(1s);
    talk.client().close();
    co_await talk.serving.wait();
    EXPECT_EQ(slow.answered, 1);
    co_await talk.end();
}

// ---- real sockets, both drivers

class real_server {
public:
    explicit real_server(slow_handler& slow, const http::server_options& options = {})
        : server(slow.handler(), options) {
        weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
        address = listener.local_address();
        running = weir::spawn(server.serve(std::move(listener)));
    }
    weir::task<> end() {
        running.cancel();
        (void)co_await weir::settle(running.wait());
    }

    http::server server;
    weir::io::address address;
    weir::handle<void> running;
};

// Real time passes: waits for what must come.
weir::task<> until(const int& counter, int wanted) {
    while (counter != wanted) {
        co_await weir::sleep(5ms);
    }
}

WEIR_IO_TEST(ClientWatchOnSockets, AClientThatLeavesStopsItsHandler) {
    for (const end_of_client how : {end_of_client::close, end_of_client::reset}) {
        slow_handler slow{.takes = 60s};
        real_server own(slow, {.disconnect_grace = 10ms});
        weir::io::socket client = co_await weir::io::connect(own.address);
        co_await client.write(request_text);
        co_await until(slow.begun, 1);
        co_await weir::sleep(100ms);
        if (how == end_of_client::reset) {
            client.reset();
        } else {
            client.close();
        }
        co_await until(slow.stopped, 1);
        while (own.server.stats().connections.active > 0) {
            co_await weir::sleep(5ms);
        }
        EXPECT_EQ(own.server.stats().abandoned, 1U);
        EXPECT_EQ(own.server.stats().broken_off, 0U);
        co_await own.end();
    }
}

WEIR_IO_TEST(ClientWatchOnSockets, AClientThatSendsNoMoreGetsItsAnswer) {
    slow_handler slow{.takes = 300ms};
    real_server own(slow, {.disconnect_grace = 50ms});
    weir::io::socket client = co_await weir::io::connect(own.address);
    co_await client.write(request_text);
    co_await client.close_write();
    std::string all;
    char some[512];
    for (;;) {
        const std::size_t count = co_await client.read(some);
        if (count == 0) {
            break;
        }
        all.append(some, count);
    }
    EXPECT_TRUE(all.ends_with("\r\n\r\ndone")) << all;
    EXPECT_EQ(own.server.stats().abandoned, 0U);
    co_await own.end();
}

WEIR_IO_TEST(ClientWatchOnSockets, UnreadRequestsBehindDoNotHideTheEnd) {
    slow_handler slow{.takes = 60s};
    real_server own(slow, {.disconnect_grace = 10ms});
    weir::io::socket client = co_await weir::io::connect(own.address);
    std::string many;
    for (int i = 0; i < 2000; ++i) {
        many += request_text;
    }
    co_await client.write(many);
    co_await until(slow.begun, 1);
    co_await weir::sleep(100ms);
    client.close();
    co_await until(slow.stopped, 1);
    EXPECT_EQ(slow.begun, 1);
    co_await own.end();
}

}  // namespace client_watch_test
