// SPDX-License-Identifier: MIT
// A test that is run once for every read, write, connect and timer in it, each time with that one
// failing or cut short
#include <weir/io/buffered_reader.hpp>
#include <weir/testing/faults.hpp>
#include <weir/testing/io/simulated_network.hpp>
#include <weir/testing/testing.hpp>

using namespace std::chrono_literals;
using weir::testing::simulated_network;
using weir::testing::simulated_stream;

namespace {

weir::task<> serve(simulated_stream peer) {
    weir::io::buffered_reader reader(peer);
    while (auto line = co_await reader.read_line(100)) {
        const std::string answer = "hello " + std::string(*line) + "\n";
        co_await peer.write(answer);
    }
}

weir::task<> serve_one(simulated_stream peer) {
    (void)co_await weir::settle(serve(std::move(peer)));  // a client that breaks is its own matter
}

// Asks again on a new connection if the first one breaks.
weir::task<std::string> ask(simulated_network& net, std::string name) {
    for (int attempt = 1;; ++attempt) {
        try {
            simulated_stream peer = co_await net.connect("server:80");
            co_await peer.write(name + "\n");
            weir::io::buffered_reader reader(peer);
            const auto line = co_await weir::timeout(5s, reader.read_line(100));
            if (line.has_value()) {
                co_return std::string(*line);
            }
        } catch (const std::runtime_error&) {
            if (attempt == 3) {
                throw;
            }
        }
        co_await weir::sleep(1s);
    }
}

TEST(Ask, SurvivesEverySingleFault) {
    const auto found = weir::testing::explore_faults([]() -> weir::task<> {
        simulated_network net({.link = {.latency = 5ms}});
        auto listener = net.listen("server:80");
        auto accept = [&](weir::task_group& group) -> weir::task<> {
            for (;;) {
                auto peer = co_await listener.accept(weir::io::as_result);
                if (peer) {
                    group.spawn(serve_one, std::move(*peer));
                } else {
                    co_await weir::sleep(10ms);  // too many files; the next may work
                }
            }
        };
        auto serving = weir::spawn([&]() -> weir::task<> { co_await weir::with_group(accept); });
        auto asking = weir::spawn(ask, std::ref(net), "ann");
        co_await asking.wait();
        if (!asking.cancelled()) {
            EXPECT_EQ(asking.result(), "hello ann");  // one fault is never too many
        }
        serving.cancel();
        co_await serving.wait();
    });
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_GT(found.runs, 10u);
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
