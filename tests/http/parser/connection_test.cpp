// SPDX-License-Identifier: MIT
// A server over a network that cuts as it likes answers the requests that the parser sees in the
// same bytes, in their order, and nothing else.

#include "http/server/conversation.hpp"
#include "parse.hpp"
#include "random_requests.hpp"

#include <weir/testing/testing.hpp>

#include <string>

namespace {

using namespace random_requests;
using weir::test::parse_all;
using weir::test::parse_result;
using weir::test::parsed_request;
using weir::test::parser_limits;
namespace http = weir::http;

constexpr parser_limits limits{.header_bytes = 4096, .header_count = 12, .body_bytes = 2500};

std::string expected_answer(const parsed_request& to) {
    return to.head.method_name + " " + to.head.target + "\n" + to.body;
}

http::handler echo() {
    return [](http::request& incoming) -> weir::task<http::response> {
        std::string echoed =
            std::string(incoming.method_name()) + " " + std::string(incoming.target());
        echoed += "\n";
        const std::string body = co_await incoming.text();
        echoed += body;
        co_return http::response::text(echoed);
    };
}

weir::task<> compare(std::string text, const parse_result& meant, std::uint64_t seed) {
    http_test::conversation peer(
        echo(),
        {.max_header_bytes = limits.header_bytes,
         .max_headers = limits.header_count,
         .max_body_bytes = limits.body_bytes},
        {.link = {.segment = 1 + seed % 700, .short_reads = 0.3, .splits = 0.3}, .seed = seed});
    auto talk = [&]() -> weir::task<> {
        co_await peer.say(text);
        co_await peer.client().close_write();
    };
    const auto talking = weir::spawn(talk());
    bool is_open = true;
    for (const parsed_request& each : meant.requests) {
        http_test::answer answer = co_await peer.answers.next();
        if (answer.status == 100) {
            answer = co_await peer.answers.next();
        }
        EXPECT_EQ(answer.status, 200);
        EXPECT_TRUE(answer.is_whole);
        EXPECT_EQ(answer.body, expected_answer(each));
        EXPECT_EQ(answer.headers.lists("Connection", "close"), !each.head.keep_alive);
        is_open = each.head.keep_alive;
        if (!is_open) {
            break;
        }
    }
    if (is_open && meant.status != 0) {
        const http_test::answer refusal = co_await peer.answers.next();
        EXPECT_EQ(refusal.status, static_cast<int>(meant.status));
        EXPECT_TRUE(refusal.headers.lists("Connection", "close"));
        EXPECT_TRUE(refusal.is_whole);
        is_open = false;
    }
    const std::string rest = co_await peer.answers.rest();
    EXPECT_TRUE(rest.empty() || (is_open && meant.wants_more)) << rest;
    co_await peer.end();
    (void)co_await weir::settle(talking.wait());
}

WEIR_TEST(HttpConnection, AnswersWhatTheParserSees) {
    std::size_t answered = 0;
    std::size_t refused = 0;
    for (std::uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
        dice random(seed);
        std::string text;
        for (std::size_t count = 1 + random.below(4); count != 0; --count) {
            text += written(random, random_request(random));
        }
        if (random.one_in(2)) {
            damage(random, text);
        }
        const parse_result meant = parse_all(text, limits);
        answered += meant.requests.size();
        refused += meant.status != 0 ? 1 : 0;
        co_await compare(text, meant, seed);
        if (::testing::Test::HasFailure()) {
            ADD_FAILURE() << "seed " << seed << ": " << ::testing::PrintToString(text) << "\n"
                          << meant.detail;
        }
    }
    EXPECT_GT(answered, 200u);
    EXPECT_GT(refused, 20u);
}

}  // namespace
