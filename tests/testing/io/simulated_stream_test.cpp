// SPDX-License-Identifier: MIT
// The ends of a simulated connection: they end, fail and reset as TCP sockets do.

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

WEIR_TEST(SimulatedStream, HalfCloseEndsOneDirection) {
    simulated_network net({.link = {.latency = 5ms}});
    auto [near, far] = net.pair();
    co_await send(near, "question");
    const std::string question = co_await io::read_all(far, 100);
    EXPECT_EQ(question, "question");
    co_await far.write("answer");
    std::string answer = co_await read_some(near);
    EXPECT_EQ(answer, "answer");
    WEIR_EXPECT_THROW_WITH(write_all(near, "more"), weir::io_error, ": Broken pipe");
    co_await near.close_write();  // twice is once
    far.close();
    answer = co_await read_some(near);
    EXPECT_EQ(answer, "");
}

WEIR_TEST(SimulatedStream, TheEndOfThePeerIsReported) {
    using io::closure;
    simulated_network net({.link = {.latency = 5ms}});
    for (const bool is_reset : {false, true}) {
        auto [near, far] = net.pair();
        const auto watch = [](simulated_stream& on) -> task<weir::clock::time_point> {
            co_await on.until_peer_closes();
            co_return weir::now();
        };
        auto waiting = weir::spawn(watch(near));
        co_await far.write("unread");
        co_await weir::sleep(1s);
        EXPECT_EQ(near.peer_closure(), closure::none);
        EXPECT_FALSE(waiting.done());
        const auto began = weir::now();
        if (is_reset) {
            far.reset();
        } else {
            co_await far.close_write();
        }
        const weir::clock::time_point reported = co_await waiting;
        EXPECT_EQ(reported - began, 5ms);
        EXPECT_EQ(near.peer_closure(), is_reset ? closure::both : closure::sending);
        co_await near.until_peer_closes();  // what was before counts
        far.reset();
        co_await weir::sleep(1s);
        EXPECT_EQ(near.peer_closure(), closure::both);
        const int of_closed = co_await error_of(far.until_peer_closes());
        EXPECT_EQ(of_closed, EBADF);
    }
}

WEIR_TEST(SimulatedStream, CloseEndsWhatOthersHaveUnderWay) {
    simulated_network net({.link = {.window = 10}});
    auto [near, far] = net.pair();
    const auto reading = weir::spawn(read_some(near));
    const auto writing = weir::spawn(write_all(near, pattern(20)));
    co_await weir::sleep(1ms);
    near.close();
    near.close();
    WEIR_EXPECT_THROW_WITH(reading, weir::io_error, "read, which was closed meanwhile");
    WEIR_EXPECT_THROW_WITH(writing, weir::io_error, "write, which was closed meanwhile");
    WEIR_EXPECT_THROW_WITH(read_some(near), weir::io_error, "read on what is closed");
    EXPECT_FALSE(near.is_open());
    std::string got = co_await read_some(far);
    EXPECT_EQ(got, pattern(10));
    got = co_await read_some(far);
    EXPECT_EQ(got, "");
}

WEIR_TEST(SimulatedStream, OneReaderAndOneWriterAtATime) {
    simulated_network net({.link = {.window = 4}});
    auto [near, far] = net.pair();
    const auto reading = weir::spawn(read_some(far));
    const auto writing = weir::spawn(write_all(far, pattern(8)));
    co_await weir::testing::settle_all();
    WEIR_EXPECT_THROW_WITH(read_some(far), weir::invalid_state, "another task");
    WEIR_EXPECT_THROW_WITH(write_all(far, "x"), weir::invalid_state, "another task");
    co_await near.write("abcd");
    const std::string got = co_await reading;
    EXPECT_EQ(got, "abcd");
    std::array<char, 8> eight{};
    co_await io::read_exact(near, eight);
    co_await writing;
}

// A close before all input is read: the peer may lose the data that was sent to it.
WEIR_TEST(SimulatedStream, ClosingWithUnreadBytesResets) {
    simulated_network net({.link = {.latency = 5ms}});
    auto [near, far] = net.pair();
    co_await near.write("not read by anybody");
    co_await weir::sleep(10ms);
    far.close();
    co_await weir::sleep(10ms);
    WEIR_EXPECT_THROW_WITH(read_some(near), weir::io_error, ": Connection reset by peer");
    const int error = co_await error_of(write_all(near, "x"));
    EXPECT_EQ(error, ECONNRESET);
    EXPECT_EQ(net.stats().resets, 1u);
    EXPECT_EQ(net.stats().bytes_lost, 19u);
}

WEIR_TEST(SimulatedStream, WritingToAClosedPeerIsNoticedLater) {
    simulated_network net({.link = {.latency = 5ms}});
    auto [near, far] = net.pair();
    far.close();
    co_await weir::sleep(10ms);
    co_await near.write("a");  // goes into the void, and a reset comes back
    co_await weir::sleep(20ms);
    WEIR_EXPECT_THROW_WITH(write_all(near, "b"), weir::io_error, ": Broken pipe");
    WEIR_EXPECT_THROW_WITH(read_some(near), weir::io_error, ": Connection reset by peer");
}

WEIR_TEST(SimulatedStream, ResetsReachBothEnds) {
    simulated_network net({.link = {.latency = 5ms, .reset_after = 1000}});
    auto [near, far] = net.pair();
    const auto sending = weir::spawn(error_of(write_all(near, pattern(100'000))));
    const auto waiting = weir::spawn(error_of(read_some(near)));
    std::string came;
    int error = 0;
    try {
        for (;;) {
            came += co_await read_some(far);
        }
    } catch (const weir::io_error& caught) {
        error = caught.code().value();
    }
    EXPECT_EQ(error, ECONNRESET);
    EXPECT_EQ(came, pattern(100'000).substr(0, came.size()));
    EXPECT_LE(came.size(), 1000u);
    error = co_await sending;
    EXPECT_EQ(error, ECONNRESET);
    error = co_await waiting;
    EXPECT_EQ(error, ECONNRESET);

    net.set_default_link({});
    auto [one, two] = net.pair();
    const auto first = weir::spawn(error_of(read_some(one)));
    const auto second = weir::spawn(error_of(read_some(two)));
    co_await weir::testing::settle_all();
    net.reset("client", "server");
    error = co_await first;
    EXPECT_EQ(error, ECONNRESET);
    error = co_await second;
    EXPECT_EQ(error, ECONNRESET);

    auto [left, right] = net.pair();
    left.reset();
    error = co_await error_of(read_some(right));
    EXPECT_EQ(error, ECONNRESET);
    EXPECT_EQ(net.stats().resets, 3u);
}

}  // namespace
