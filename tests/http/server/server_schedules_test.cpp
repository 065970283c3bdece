// SPDX-License-Identifier: MIT
// Random clients over random networks, stopped, reset and drained at random moments: every answer
// that comes whole is the right one, and nothing is left behind.

#include "conversation.hpp"
#include <support/schedules.hpp>

#include <weir/finally.hpp>
#include <weir/group.hpp>

namespace {

using namespace std::chrono_literals;
using http_test::answer;
namespace http = weir::http;

int right_answers = 0;  // in all worlds

// How often a handler was started, and has ended in any way.
struct ledger {
    int begun = 0;
    int ended = 0;
};

struct in_ledger {
    explicit in_ledger(ledger& counted) : book(counted) { ++book.begun; }
    in_ledger(const in_ledger&) = delete;
    in_ledger& operator=(const in_ledger&) = delete;
    ~in_ledger() { ++book.ended; }
    ledger& book;
};

// Echoes the request, in one of several ways, some of them slow.
http::handler strange_application(ledger& book, schedules::dice& random) {
    return [&](http::request& incoming) -> weir::task<http::response> {
        const in_ledger here(book);
        std::string wanted(incoming.path());
        if (random.one_in(4)) {
            co_await schedules::pause(random, 50);
        }
        if (!random.one_in(4)) {
            const std::string body = co_await incoming.text();
            wanted += ":" + std::to_string(body.size());
        } else {
            wanted += ":?";
        }
        if (random.one_in(3)) {
            co_await schedules::pause(random, 50);
        }
        if (random.one_in(5)) {
            throw http::problem(http::status::conflict, wanted);
        }
        if (random.one_in(3)) {
            co_return http::response::stream("text/plain",
                                             [&, wanted](http::body_writer& out) -> weir::task<> {
                                                 const in_ledger writing(book);
                                                 for (const char each : wanted) {
                                                     co_await out.write(std::string(1, each));
                                                     if (random.one_in(8)) {
                                                         co_await out.flush();
                                                         co_await schedules::pause(random, 20);
                                                     }
                                                 }
                                             });
        }
        co_return http::response::text(std::move(wanted));
    };
}

// Sends requests, pipelined at random, and checks the answers that come whole.
weir::task<> client(weir::testing::simulated_stream stream, int number, schedules::dice& random) {
    http_test::answer_reader answers(stream);
    std::vector<std::pair<std::string, std::string>> open;
    auto talk = [&]() -> weir::task<> {
        for (int i = 0; i < 6; ++i) {
            const std::string path = "/" + std::to_string(number) + "/" + std::to_string(i);
            const std::string body(static_cast<std::size_t>(random.below(3000)), 'b');
            std::string request = "POST " + path + " HTTP/1.1\r\nHost: a\r\n";
            if (random.one_in(2)) {
                request += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
            } else {
                request += "Transfer-Encoding: chunked\r\n\r\n";
                char line[16];
                std::snprintf(line, sizeof line, "%zx\r\n", body.size());
                request += body.empty() ? "" : line + body + "\r\n";
                request += "0\r\n\r\n";
            }
            open.emplace_back(path, path + ":" + std::to_string(body.size()));
            co_await stream.write(request);
            while (!open.empty() && !random.one_in(3)) {
                const answer got = co_await answers.next();
                if (!got.is_whole) {
                    co_return;
                }
                const auto [path_asked, whole] = open.front();
                open.erase(open.begin());
                const bool is_right =
                    got.body == whole || got.body == path_asked + ":?" ||
                    (got.status == 409 && got.body.find(path_asked + ":") != std::string::npos);
                right_answers += is_right ? 1 : 0;
                EXPECT_TRUE(is_right) << got.status << " " << got.body << " for " << whole;
                if (got.headers.get("connection") == "close") {
                    co_return;
                }
            }
            co_await schedules::pause(random, 30);
        }
    };
    try {
        co_await talk();
    } catch (const weir::io_error&) {
        // the network, or the server, has ended it
    }
}

weir::task<> one_world() {
    schedules::dice random;
    ledger book;
    weir::testing::link_options link =
        weir::testing::link_options::drawn_from(weir::testing::current_seed());
    link.resets = random.one_in(3) ? 0.02 : 0;
    weir::testing::simulated_network net({.link = link});
    weir::testing::simulated_listener listener = net.listen("server:80");
    http::handler app = strange_application(book, random);
    weir::tcp::session session;
    auto serve_some = [&](weir::task_group& group) -> weir::task<> {
        for (;;) {
            weir::testing::simulated_stream peer = co_await listener.accept();
            group.spawn(http::serve_connection(weir::io::any_stream(std::move(peer)), app,
                                               http::server_options(), session));
        }
    };
    auto serve = [&]() -> weir::task<> { co_await weir::with_group(serve_some); };
    auto visit = [&](int number) -> weir::task<> {
        co_await schedules::pause(random, 100);
        weir::testing::simulated_stream stream;
        try {
            stream = co_await net.connect("server:80");
        } catch (const weir::io_error&) {
            co_return;
        }
        co_await client(std::move(stream), number, random);
    };
    auto world = [&](weir::task_group& group) -> weir::task<> {
        weir::handle<void> server = weir::spawn(serve());
        for (int i = 0; i < 4; ++i) {
            group.spawn(visit(i));
        }
        co_await weir::sleep(random.milliseconds_below(400));
        const int choice = random.below(3);
        if (choice == 0) {
            session.drain();
            co_await weir::sleep(random.milliseconds_below(200));
        }
        if (choice <= 1) {
            server.cancel();
            (void)co_await weir::settle(server.wait());
            listener.close();
            group.cancel();
        } else {
            co_await weir::sleep(10min);  // all have ended
            EXPECT_EQ(book.begun, book.ended);
            server.cancel();
            (void)co_await weir::settle(server.wait());
        }
    };
    co_await weir::with_group(world);
    EXPECT_EQ(book.begun, book.ended);
}

TEST(ServerSchedules, RandomClientsRandomStops) {
    schedules::expect_under(400, one_world);
    EXPECT_GT(right_answers, 1000);
}

// A stop at every single suspension of a request, one after the other.
weir::task<> stopped_after(int steps) {
    ledger book;
    {
        weir::testing::simulated_network net({.link = {.latency = 1ms, .segment = 7}});
        auto [near, far] = net.pair();
        http::handler app = [&book](http::request& incoming) -> weir::task<http::response> {
            const in_ledger here(book);
            const std::string body = co_await incoming.text();
            co_await weir::sleep(1ms);
            co_return http::response::stream("text/plain",
                                             [&book, body](http::body_writer& out) -> weir::task<> {
                                                 const in_ledger writing(book);
                                                 co_await out.write(body);
                                                 co_await out.flush();
                                                 co_await weir::sleep(1ms);
                                                 co_await out.write(body);
                                             });
        };
        weir::tcp::session session;
        weir::handle<void> serving = weir::spawn(http::serve_connection(
            weir::io::any_stream(std::move(far)), app, http::server_options(), session));
        co_await near.write(
            std::string("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
        for (int i = 0; i < steps; ++i) {
            co_await weir::sleep(100us);
        }
        serving.cancel();
        (void)co_await weir::settle(serving.wait());
    }
    EXPECT_EQ(book.begun, book.ended);
}

WEIR_TEST(ServerSchedules, AStopAtEveryMomentLeavesNothing) {
    for (int steps = 0; steps < 400; ++steps) {
        co_await stopped_after(steps);
    }
}

}  // namespace
