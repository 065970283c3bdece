// SPDX-License-Identifier: MIT
// Bodies of deliveries and inputs of programs are the bytes that were submitted, and what comes
// back as JSON stays as it is.

#include "base/raw_json.hpp"
#include "support.hpp"
#include <support/io.hpp>
#include <support/random_json.hpp>

#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/service/handlers/exec.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/spawn.hpp>

#include <gtest/gtest.h>

#include <string>

namespace handler_text_test {

using handlers_test::outcome_of;
using handlers_test::task_with;
using weir::base::raw_member;
namespace service = weir::service;
namespace http = weir::http;

constexpr unsigned rounds = 25;
constexpr unsigned documents_per_round = 400;  // 10,000 in all, on each driver

// Many documents as one.
std::string documents(unsigned round) {
    std::string all = "[";
    for (unsigned i = 0; i < documents_per_round; ++i) {
        const unsigned seed = round * documents_per_round + i;
        weir_test::random_json random(seed, seed);
        all += (i > 0 ? "," : "") + random.blanks() + random.text() + random.blanks();
    }
    return all + "]";
}

WEIR_IO_TEST(HandlerText, TenThousandInputsArriveAsSubmitted) {
    service::exec_commands commands;
    commands.allow("cat", {.command = {"/bin/cat"}, .max_output = 1 << 20});
    auto run = [&](service::job& job) { return commands.run(job); };
    for (unsigned round = 0; round < rounds; ++round) {
        const std::string input = documents(round);
        const auto task = task_with(R"({"input" : )" + input + R"( , "command":"cat"})");
        const std::string outcome = co_await outcome_of(task, run);
        EXPECT_EQ(raw_member(outcome, "output"), input);
    }
}

WEIR_IO_TEST(HandlerText, TenThousandBodiesArriveAsSubmitted) {
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::string url =
        "http://127.0.0.1:" + std::to_string(listener.local_address().port()) + "/";
    std::string seen;
    std::string answer;
    auto receiver = weir::spawn(
        http::serve(std::move(listener), [&](http::request& request) -> weir::task<http::response> {
            seen = co_await request.text();
            co_return http::response::json_text(answer);
        }));
    http::address_filter filter = http::address_filter::public_only();
    filter.allow("127.0.0.0/8");
    service::http_delivery delivery({}, filter);
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    for (unsigned round = 0; round < rounds; ++round) {
        const std::string body = documents(round);
        answer = " " + weir_test::random_json(round, round).text() + "\n";
        const auto task = task_with(R"({"b\u006fdy" : )" + body + R"( , "url":")" + url + "\"}");
        const std::string outcome = co_await outcome_of(task, run);
        EXPECT_EQ(seen, body);
        EXPECT_EQ(raw_member(outcome, "body"), weir::base::trim_json(answer)) << outcome;
    }
    receiver.cancel();
    co_await receiver.wait();
}

}  // namespace handler_text_test
