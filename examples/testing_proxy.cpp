// SPDX-License-Identifier: MIT
// Tests of a proxy in simulated time, without a network: half-close, a limit, an idle timeout
#include <weir/io/copy_both.hpp>
#include <weir/testing/io/simulated_network.hpp>
#include <weir/testing/testing.hpp>

namespace io = weir::io;
using namespace std::chrono_literals;
using weir::testing::simulated_network;
using weir::testing::simulated_stream;

namespace {

// The same code serves sockets: it is a template over the stream.
template <io::byte_stream Stream>
weir::task<io::copied_both> forward(Stream client, Stream server, weir::semaphore& places) {
    auto place = co_await places.acquire();
    co_return co_await io::copy_both(client, server, {.idle_timeout = 5min});
}

struct proxied {
    explicit proxied(simulated_network& net, weir::semaphore& places) {
        auto [outside, inside] = net.pair("client", "proxy");
        auto [near, far] = net.pair("proxy", "server");
        client = std::move(outside);
        server = std::move(far);
        running = weir::spawn(forward(std::move(inside), std::move(near), places));
    }
    simulated_stream client;
    simulated_stream server;
    weir::handle<io::copied_both> running;
};

WEIR_TEST(Proxy, PassesOnAHalfClose) {
    simulated_network net({.link = {.latency = 20ms, .short_reads = 0.5, .splits = 0.5}});
    weir::semaphore places(1);
    proxied through(net, places);
    co_await through.client.write("question");
    co_await through.client.close_write();
    const std::string question = co_await io::read_all(through.server, 100);
    EXPECT_EQ(question, "question");
    co_await through.server.write("answer");
    through.server.close();
    const std::string answer = co_await io::read_all(through.client, 100);
    EXPECT_EQ(answer, "answer");
    const io::copied_both moved = co_await through.running;
    EXPECT_EQ(moved.left_to_right + moved.right_to_left, 14u);
}

WEIR_TEST(Proxy, EndsWhenNothingMovesForFiveMinutes) {
    simulated_network net;
    weir::semaphore places(1);
    proxied through(net, places);
    const auto begin = weir::now();
    co_await weir::sleep(4min);
    co_await through.client.write("x");  // starts the five minutes again
    const io::copied_both moved = co_await through.running;
    EXPECT_TRUE(moved.is_idle);
    EXPECT_EQ(weir::now() - begin, 9min);
}

WEIR_TEST(Proxy, OneMoreThanTheLimitWaitsForAPlace) {
    simulated_network net;
    weir::semaphore places(1);
    proxied first(net, places);
    proxied second(net, places);
    co_await second.client.write("hello");
    co_await weir::sleep(1min);
    EXPECT_EQ(second.server.peer_closure(), io::closure::none);
    EXPECT_TRUE(places.locked());
    first.running.cancel();
    co_await first.running.wait();
    char buffer[5];
    co_await io::read_exact(second.server, buffer);
    second.running.cancel();
    co_await second.running.wait();
    EXPECT_EQ(places.value(), 1);
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
