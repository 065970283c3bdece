// SPDX-License-Identifier: MIT
// A server with a fault at every read, write and timer, and a stop at each of them: handlers end,
// answers that come whole are right, and the connection's task ends.

#include "conversation.hpp"

#include <weir/finally.hpp>
#include <weir/testing/faults.hpp>

#include <vector>

namespace {

using namespace std::chrono_literals;
namespace http = weir::http;
using http_test::answer;

struct handler_count {
    int begun = 0;
    int ended = 0;
};

http::handler counting_handler(handler_count& count) {
    return [&count](http::request& incoming) -> weir::task<http::response> {
        struct ending {
            handler_count& count;
            ~ending() { ++count.ended; }
        };
        ++count.begun;
        const ending at_end{count};
        const std::string body = co_await incoming.text();
        co_await weir::sleep(1ms);
        if (incoming.path() == "/stream") {
            co_return http::response::stream("text/plain",
                                             [body](http::body_writer& out) -> weir::task<> {
                                                 co_await out.write("streamed ");
                                                 co_await out.flush();
                                                 co_await out.write(body);
                                             });
        }
        co_return http::response::text("got " + body);
    };
}

weir::task<> talk_to_server(handler_count& count, std::vector<answer>& answers) {
    http_test::conversation talk(counting_handler(count), {}, {.link = {.latency = 1ms}});
    auto ask = [&]() -> weir::task<> {
        co_await talk.say("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirst");
        answers.push_back(co_await talk.answers.next());
        co_await talk.say(
            "POST /stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            "6\r\nsecond\r\n0\r\n\r\n");
        answers.push_back(co_await talk.answers.next());
        co_await talk.say("GET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        answers.push_back(co_await talk.answers.next());
    };
    auto end = [&]() -> weir::task<> { co_await talk.end(); };
    co_await weir::finally(ask(), end);
}

TEST(ServerFaults, EveryFaultEndsInARightAnswerOrNone) {
    const std::uint64_t runs = weir::testing::expect_no_fault_breaks(
        []() -> weir::task<> {
            handler_count count;
            std::vector<answer> answers;
            auto talking = weir::spawn(talk_to_server(count, answers));
            co_await talking.wait();
            EXPECT_EQ(count.begun, count.ended);
            const std::vector<std::string> right{"got first", "streamed second", "got "};
            for (std::size_t index = 0; index < answers.size(); ++index) {
                if (answers[index].is_whole && answers[index].status == 200) {
                    EXPECT_EQ(answers[index].body, right[index]);
                }
            }
            if (!weir::testing::injected_fault().has_value()) {
                EXPECT_EQ(answers.size(), 3u);
                EXPECT_EQ(count.ended, 3);
            }
            talking.result();
        },
        {.schedules = 10});
    EXPECT_GT(runs, 300u);
}

}  // namespace
