// SPDX-License-Identifier: MIT
// The simulated network: that it behaves as TCP does, has the delays that its links define, and
// loses only the data that it counts as lost.

#include "support/loops.hpp"
#include "testing/io/stream_support.hpp"

namespace {

using namespace stream_tests;

// The code of the io_error that the work ends with; 0 if it ends well.
template <class Work>
task<int> error_of(Work work) {
    try {
        co_await std::move(work);
    } catch (const weir::io_error& error) {
        co_return error.code().value();
    }
    co_return 0;
}

task<std::string> read_some(simulated_stream& from, std::size_t most = 64) {
    std::string into(most, '\0');
    const std::size_t count = co_await from.read(into);
    into.resize(count);
    co_return into;
}
task<> write_all(simulated_stream& to, std::string data) {
    co_await to.write(data);
}

WEIR_TEST(SimulatedNetwork, ConnectsAndAccepts) {
    simulated_network net({.link = {.latency = 10ms}});
    simulated_listener listener = net.listen("server:80");
    EXPECT_EQ(listener.local_address(), "server:80");
    const auto begin = weir::now();
    simulated_stream client = co_await net.connect("server:80");
    EXPECT_EQ(weir::now() - begin, 20ms);  // there and back
    simulated_stream server = co_await listener.accept();
    EXPECT_EQ(client.remote_address(), "server:80");
    EXPECT_EQ(client.local_address(), "client:49152");
    EXPECT_EQ(server.remote_address(), client.local_address());
    const simulated_stream other = co_await net.connect("server:80", "elsewhere");
    EXPECT_EQ(other.local_address(), "elsewhere:49153");
    EXPECT_EQ(net.stats().connections, 2u);
    EXPECT_EQ(net.stats().open, 2u);
    const simulated_listener any = net.listen("server:0");
    EXPECT_NE(any.local_address(), "server:0");
}

WEIR_TEST(SimulatedNetwork, ErrorsNameWhatWasAsked) {
    simulated_network net({.link = {.latency = 10ms}});
    WEIR_EXPECT_THROW_WITH(net.connect("server:81"), weir::io_error,
                           "connect to server:81: Connection refused");
    EXPECT_EQ(net.stats().refused, 1u);
    net.set_link("client", "quiet", {.silences = 1});
    const auto begin = weir::now();
    WEIR_EXPECT_THROW_WITH(net.connect("quiet:1"), weir::io_error,
                           "connect to quiet:1: Connection timed out");
    EXPECT_EQ(weir::now() - begin, 127s);
    simulated_listener listener = net.listen("server:80");
    EXPECT_THROW((void)net.listen("server:80"), weir::io_error);
    net.set_link("client", "server", {.refusals = 1});
    WEIR_EXPECT_THROW_WITH(net.connect("server:80"), weir::io_error, "Connection refused");
    net.set_link("client", "server", {});
    listener.close();
    WEIR_EXPECT_THROW_WITH(listener.accept(), weir::io_error, "accept on what is closed");
    WEIR_EXPECT_THROW(net.connect("server:80"), weir::io_error);
    for (const char* bad : {"server", "server:", ":80", "server:x", "server:99999", "server:-1"}) {
        EXPECT_THROW((void)net.listen(bad), weir::invalid_argument) << bad;
        WEIR_EXPECT_THROW(net.connect(bad), weir::invalid_argument);
    }
    EXPECT_THROW(simulated_network({.link = {.window = 0}}), weir::invalid_argument);
    EXPECT_THROW(simulated_network({.link = {.resets = 1.5}}), weir::invalid_argument);
    EXPECT_THROW(net.set_default_link({.latency = -1s}), weir::invalid_argument);
    EXPECT_THROW(net.set_link("a", "b", {.bandwidth = -1}), weir::invalid_argument);
    simulated_stream none;
    EXPECT_THROW((void)none.close_write(), weir::invalid_state);
}

WEIR_TEST(SimulatedNetwork, AFullBacklogMakesConnectsWait) {
    simulated_network net;
    simulated_listener listener = net.listen("server:80", {.backlog = 1});
    const simulated_stream first = co_await net.connect("server:80");
    auto second = weir::spawn(net.connect("server:80"));
    co_await weir::sleep(1s);
    EXPECT_FALSE(second.done());
    // Cancelled accepts take no connection.
    for (int i = 0; i < 20; ++i) {
        const auto accepting = weir::spawn(listener.accept());
        accepting.cancel();
        co_await accepting.wait();
        EXPECT_TRUE(accepting.cancelled());
    }
    const simulated_stream peer = co_await listener.accept();
    EXPECT_EQ(peer.remote_address(), first.local_address());
    simulated_stream late = co_await std::move(second);
    listener.close();  // not accepted yet
    const int error = co_await error_of(read_some(late));
    EXPECT_EQ(error, ECONNRESET);
}

WEIR_TEST(SimulatedNetwork, LatencyAndBandwidthAreExact) {
    simulated_network net({.link = {.latency = 10ms, .bandwidth = 1000, .segment = 100}});
    auto [near, far] = net.pair();
    auto [second, other] = net.pair();
    const auto begin = weir::now();
    co_await near.write(pattern(100));
    EXPECT_EQ(weir::now(), begin);  // it fits into the window
    const std::string got = co_await read_some(far, 1000);
    EXPECT_EQ(got, pattern(100));
    EXPECT_EQ(weir::now() - begin, 110ms);
    // Connections share the line, directions do not.
    co_await near.write(pattern(100));
    co_await second.write(pattern(100));
    co_await far.write(pattern(100));
    std::array<char, 100> into{};
    co_await io::read_exact(near, into);
    EXPECT_EQ(weir::now() - begin, 220ms);
    co_await io::read_exact(other, into);
    EXPECT_EQ(weir::now() - begin, 320ms);
}

WEIR_TEST(SimulatedNetwork, JitterAndStallsDelayAndKeepTheOrder) {
    simulated_network net(
        {.link = {.latency = 1ms, .jitter = 100ms, .segment = 10, .stalls = 0.2, .stall = 3s}});
    auto [near, far] = net.pair();
    const std::string sent = pattern(1000);
    const auto sender = weir::spawn(send(near, sent));
    const auto begin = weir::now();
    const std::string came = co_await io::read_all(far, 1000);
    EXPECT_EQ(came, sent);
    EXPECT_GT(weir::now() - begin, 50ms);
    EXPECT_GT(net.stats().stalls, 0u);
    co_await sender;
}

WEIR_TEST(SimulatedNetwork, AWriteWaitsUntilThePeerReads) {
    simulated_network net({.link = {.window = 1000}});
    auto [near, far] = net.pair();
    co_await near.write(pattern(1000));
    const auto writing = weir::spawn(write_all(near, "x"));
    co_await weir::sleep(1h);
    EXPECT_FALSE(writing.done());
    std::string all = co_await read_some(far, 10);
    co_await writing;
    const auto large = weir::spawn(write_all(near, pattern(5000)));
    while (all.size() < 6001) {
        all += co_await read_some(far, 700);
    }
    EXPECT_EQ(all, pattern(1000) + "x" + pattern(5000));
    co_await large;
    EXPECT_EQ(net.stats().bytes_sent, 6001u);
    EXPECT_EQ(net.stats().bytes_read, 6001u);
}

WEIR_TEST(SimulatedNetwork, APartitionHoldsEverythingUntilItHeals) {
    simulated_network net({.link = {.latency = 10ms}});
    const simulated_listener listener = net.listen("server:80");
    auto [near, far] = net.pair();
    auto [here, there] = net.pair("client", "elsewhere");
    net.partition("server", "client");
    co_await near.write("held");
    co_await here.write("free");
    std::string got = co_await read_some(there);
    EXPECT_EQ(got, "free");
    auto connecting = weir::spawn(net.connect("server:80"));
    auto reading = weir::spawn(read_some(far));
    co_await weir::sleep(100s);
    EXPECT_FALSE(reading.done());
    EXPECT_FALSE(connecting.done());
    net.heal();
    co_await weir::testing::advance(9ms);
    EXPECT_FALSE(reading.done());
    got = co_await std::move(reading);
    EXPECT_EQ(got, "held");
    const simulated_stream late = co_await std::move(connecting);
    EXPECT_TRUE(late.is_open());
}

WEIR_TEST(SimulatedNetwork, SentBytesAreGivenUpInTheEnd) {
    simulated_network net;
    auto [near, far] = net.pair();
    net.partition("client", "server");
    const auto begin = weir::now();
    const auto listening = weir::spawn(error_of(read_some(far)));
    const auto waiting = weir::spawn(error_of(read_some(near)));
    co_await near.write("into the dark");
    int error = co_await waiting;
    EXPECT_EQ(error, ETIMEDOUT);
    EXPECT_EQ(weir::now() - begin, 924s);
    EXPECT_FALSE(
        listening.done());  // half-open: it has sent no data, and has not noticed the break
    net.heal("client", "server");
    co_await weir::sleep(1h);
    EXPECT_FALSE(listening.done());
    co_await far.write("anybody there?");
    error = co_await listening;
    EXPECT_EQ(error, ECONNRESET);
}

WEIR_TEST(SimulatedNetwork, MayGoBeforeItsStreams) {
    simulated_stream near;
    simulated_stream far;
    simulated_listener listener;
    {
        simulated_network net({.link = {.latency = 1ms}});
        std::tie(near, far) = net.pair();
        listener = net.listen("server:80");
    }
    co_await send(near, "still here");
    const std::string got = co_await io::read_all(far, 100);
    EXPECT_EQ(got, "still here");
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, listener.accept()));
}

TEST(SimulatedNetwork, StreamsMayOutliveTheLoop) {
    simulated_network net({.link = {.latency = 1ms}, .seed = 7});
    auto [near, far] = net.pair();  // and be made before it
    auto main = [&near = near]() -> task<> { co_await near.write("on its way"); };
    weir::run(main(), weir_test::simulated());
    near.close();
    const std::string got = weir::run(read_some(far), weir_test::simulated());
    EXPECT_TRUE(got.empty() || got == "on its way");
}

}  // namespace
