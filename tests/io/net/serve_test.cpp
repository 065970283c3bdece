// SPDX-License-Identifier: MIT
// tcp::serve: limits, errors, draining.

#include "support/io.hpp"

#include <weir/gather.hpp>
#include <weir/io/error.hpp>
#include <weir/io/serve.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>
#include <weir/time.hpp>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::io::address;
using weir::io::bytes;

weir::task<> echo(weir::io::socket peer, weir::tcp::session& session) {
    std::array<char, 256> buffer;
    for (;;) {
        const auto count = co_await session.idle(peer.read(buffer));
        if (count.value_or(0) == 0) {
            co_return;
        }
        co_await peer.write(bytes(buffer).first(*count));
    }
}

weir::task<std::string> ask(weir::io::socket& server, std::string_view question) {
    co_await server.write(question);
    std::string answer(question.size(), '\0');
    std::size_t got = 0;
    while (got < answer.size()) {
        const std::size_t count = co_await server.read(bytes(answer).after(got));
        if (count == 0) {
            throw weir::end_of_stream("the server has gone");
        }
        got += count;
    }
    co_return answer;
}

WEIR_IO_TEST(Serve, ManyConnections) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    weir::tcp::server_stats stats;
    auto server = weir::spawn(weir::tcp::serve(std::move(listener), echo, {.stats = &stats}));
    auto client = [&](int number) -> weir::task<> {
        weir::io::socket connection = co_await weir::io::connect(at);
        for (int round = 0; round < 5; ++round) {
            const std::string question = std::to_string(number * 1000 + round);
            const std::string answer = co_await ask(connection, question);
            EXPECT_EQ(answer, question);
        }
    };
    std::vector<weir::task<>> clients;
    for (int number = 0; number < 200; ++number) {
        clients.push_back(client(number));
    }
    co_await weir::gather(std::move(clients));
    EXPECT_EQ(stats.accepted, 200u);
    server.cancel();
    co_await server.wait();
    EXPECT_EQ(stats.active, 0u);
    EXPECT_EQ(stats.failed, 0u);
    EXPECT_EQ(stats.cut_off, 0u);
}

WEIR_IO_TEST(Serve, TheLimitHoldsBackThoseWhoCome) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    weir::tcp::server_stats stats;
    auto server = weir::spawn(
        weir::tcp::serve(std::move(listener), echo, {.max_connections = 2, .stats = &stats}));
    std::vector<weir::io::socket> clients;
    for (int number = 0; number < 5; ++number) {
        clients.push_back(co_await weir::io::connect(at));
        co_await clients.back().write("x");
    }
    co_await weir::sleep(20ms);
    EXPECT_EQ(stats.active, 2u);
    EXPECT_EQ(stats.accepted, 2u);
    for (weir::io::socket& each : clients) {  // each that leaves makes room for the next
        std::array<char, 1> answer;
        const std::size_t count = co_await each.read(answer);
        EXPECT_EQ(count, 1u);
        each.close();
    }
    server.cancel();
    co_await server.wait();
    EXPECT_EQ(stats.accepted, 5u);
}

WEIR_IO_TEST(Serve, AHandlerThatFailsEndsItsOwnConnectionOnly) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    int reports = 0;
    weir::loop::current().on_report([&](const weir::report& about) {
        ++reports;
        EXPECT_EQ(about.message, "the handler of a connection failed: no");
    });
    weir::tcp::server_stats stats;
    auto handler = [](weir::io::socket peer) -> weir::task<> {
        std::array<char, 1> first;
        const std::size_t count = co_await peer.read(first);
        if (count == 1 && first[0] == 'n') {
            throw std::runtime_error("no");
        }
        co_await peer.write("y");
    };
    auto server = weir::spawn(weir::tcp::serve(std::move(listener), handler, {.stats = &stats}));
    for (const char* question : {"n", "y"}) {
        weir::io::socket client = co_await weir::io::connect(at);
        co_await client.write(question);
        std::array<char, 1> answer;
        const std::size_t count = co_await client.read(answer);
        EXPECT_EQ(count, *question == 'y' ? 1u : 0u);
    }
    weir::io::socket rude = co_await weir::io::connect(at);
    rude.reset();
    co_await weir::sleep(5ms);
    server.cancel();
    co_await server.wait();
    EXPECT_EQ(reports, 1);
    EXPECT_EQ(stats.failed, 1u);
}

WEIR_IO_TEST(Serve, DrainingFinishesWhatIsUnderWay) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    weir::tcp::server_stats stats;
    weir::event may_answer;
    auto handler = [&](weir::io::socket peer, weir::tcp::session& session) -> weir::task<> {
        std::array<char, 1> request;
        for (;;) {
            const auto count = co_await session.idle(peer.read(request));
            if (count.value_or(0) == 0) {
                co_return;
            }
            co_await may_answer.wait();
            co_await peer.write("done");
        }
    };
    auto server = weir::spawn(weir::tcp::serve(std::move(listener), handler, {.stats = &stats}));
    weir::io::socket busy = co_await weir::io::connect(at);
    weir::io::socket idle = co_await weir::io::connect(at);
    co_await busy.write("?");
    co_await weir::sleep(10ms);
    server.cancel();
    std::array<char, 10> answer;
    const std::size_t end = co_await idle.read(answer);  // goes at once
    EXPECT_EQ(end, 0u);
    EXPECT_FALSE(server.done());
    may_answer.set();
    const std::size_t count = co_await busy.read(answer);
    EXPECT_EQ(count, 4u);
    co_await server.wait();
    EXPECT_TRUE(server.cancelled());
    EXPECT_EQ(stats.cut_off, 0u);
    EXPECT_THROW(co_await weir::io::connect(at), weir::io_error);
}

WEIR_IO_TEST(Serve, TheDrainDeadlineCutsOff) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    weir::tcp::server_stats stats;
    auto handler = [](weir::io::socket) -> weir::task<> { co_await weir::sleep(1h); };
    auto server = weir::spawn(
        weir::tcp::serve(std::move(listener), handler, {.drain_deadline = 20ms, .stats = &stats}));
    weir::io::socket client = co_await weir::io::connect(at);
    co_await weir::sleep(5ms);
    server.cancel();
    co_await server.wait();
    EXPECT_EQ(stats.cut_off, 1u);
    EXPECT_EQ(stats.active, 0u);
}

// Not with the sanitizers of memory: they open pipes to look at it, and see errors where they
// cannot.
#if !defined(__SANITIZE_ADDRESS__)
WEIR_IO_TEST(Serve, OutOfDescriptors) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    weir::tcp::server_stats stats;
    auto server = weir::spawn(weir::tcp::serve(std::move(listener), echo, {.stats = &stats}));
    std::vector<weir::io::socket> clients;
    for (int number = 0; number < 10; ++number) {
        clients.push_back(co_await weir::io::connect(at));
    }
    while (stats.accepted < 10) {
        co_await weir::sleep(1ms);
    }
    // From here on each new client takes the last descriptor, and none is left to accept it with.
    rlimit former{};
    ::getrlimit(RLIMIT_NOFILE, &former);
    rlimit tight = former;
    const int probe = ::dup(0);
    ::close(probe);
    tight.rlim_cur = static_cast<rlim_t>(probe) + 1;
    ::setrlimit(RLIMIT_NOFILE, &tight);
    weir::io::socket late = co_await weir::io::connect(at);
    while (stats.accept_errors == 0) {
        co_await weir::sleep(1ms);
    }
    co_await weir::sleep(50ms);
    EXPECT_LE(stats.accept_errors, 10u) << "it spins";
    clients.pop_back();  // makes room
    const std::string answer = co_await ask(late, "still there?");
    EXPECT_EQ(answer, "still there?");
    ::setrlimit(RLIMIT_NOFILE, &former);
    server.cancel();
    co_await server.wait();
}
#endif

// A stop that comes when a connection was just taken from the system: it is one of those under way.
weir::task<> stop_as_somebody_comes() {
    int greeted = 0;
    for (int round = 0; round < 20; ++round) {
        weir::io::listener listener = weir::io::listen(address::loopback(0));
        const address at = listener.local_address();
        auto greet = [&](weir::io::socket peer) -> weir::task<> { co_await peer.write("hello"); };
        auto server = weir::spawn(weir::tcp::serve(std::move(listener), greet));
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        weir::io::socket alarm(ends[0]);
        weir::io::socket ringer(ends[1]);
        auto stop = [&]() -> weir::task<> {
            co_await alarm.readable();
            server.cancel();
        };
        auto stopping = weir::spawn(stop);
        co_await weir::sleep(1ms);
        // Both happen before the loop looks again, in either order.
        const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        auto connect = [&] {
            EXPECT_EQ(::connect(client, at.data(), static_cast<socklen_t>(at.size())), 0);
        };
        if (round % 2 == 0) {
            connect();
        }
        EXPECT_EQ(::send(ringer.fd(), "x", 1, 0), 1);
        if (round % 2 == 1) {
            connect();
        }
        co_await stopping;
        co_await server.wait();
        std::array<char, 10> answer;
        const ssize_t count = ::recv(client, answer.data(), answer.size(), 0);
        EXPECT_NE(count, 0) << "accepted, and dropped";  // refused would be a reset
        greeted += count > 0 ? 1 : 0;
        ::close(client);
    }
    EXPECT_GT(greeted, 0);
}

WEIR_IO_TEST(Serve, AStopLosesNoConnectionThatWasAccepted) {
    co_await stop_as_somebody_comes();
}

TEST(Serve, AStopLosesNoConnectionUnderAnySchedule) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        weir::run(stop_as_somebody_comes(), {.seed = seed});
    }
}

WEIR_IO_TEST(Serve, DrainingEndsAllIdleWaitsOfAConnection) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    int idle = 0;
    auto handler = [&](weir::io::socket peer, weir::tcp::session& session) -> weir::task<> {
        weir::event never;
        auto read = [&]() -> weir::task<> {
            std::array<char, 1> request;
            ++idle;
            co_await session.idle(peer.read(request));
        };
        auto wait = [&]() -> weir::task<> {
            ++idle;
            co_await session.idle(never.wait());
        };
        auto end_early = [&]() -> weir::task<> { co_await session.idle(weir::sleep(1ms)); };
        co_await weir::gather(read(), wait(), end_early());
    };
    weir::tcp::server_stats stats;
    auto server = weir::spawn(
        weir::tcp::serve(std::move(listener), handler, {.drain_deadline = 2s, .stats = &stats}));
    const weir::io::socket client = co_await weir::io::connect(at);
    while (idle < 2) {
        co_await weir::sleep(1ms);
    }
    co_await weir::sleep(5ms);
    server.cancel();
    co_await server.wait();
    EXPECT_EQ(stats.cut_off, 0u);
}

WEIR_IO_TEST(Serve, AListenerThatFailsIsAnIoError) {
    weir::io::listener no_listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_THROW(co_await weir::tcp::serve(std::move(no_listener), echo), weir::io_error);
}

// Waits between requests, as a server of HTTP does.
weir::task<> echo_for_a_while(weir::io::socket peer, weir::tcp::session& session) {
    std::array<char, 256> buffer;
    for (;;) {
        const auto count = co_await session.idle(peer.read(buffer), weir::now() + 1h);
        if (count.value_or(0) == 0) {
            co_return;
        }
        co_await peer.write(bytes(buffer).first(*count));
        if (session.is_retiring()) {
            co_return;
        }
    }
}

WEIR_IO_TEST(Serve, EndsTheLongestIdleWhereThereIsNoRoom) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    weir::tcp::server_stats stats;
    static int shortages;
    shortages = 0;
    auto server = weir::spawn(weir::tcp::serve(std::move(listener), echo_for_a_while,
                                               {.max_connections = 3,
                                                .on_shortage =
                                                    [](std::string_view text) {
                                                        EXPECT_NE(text.find("at max_connections"),
                                                                  std::string_view::npos);
                                                        ++shortages;
                                                    },
                                                .stats = &stats}));
    std::vector<weir::io::socket> clients;
    for (int i = 0; i < 8; ++i) {
        clients.push_back(co_await weir::io::connect(at));
        const std::string answer = co_await ask(clients.back(), "here");
        EXPECT_EQ(answer, "here");
    }
    EXPECT_GE(stats.idle_ended, 5U);
    EXPECT_EQ(shortages, 1);
    const std::string answer = co_await ask(clients.back(), "still");
    EXPECT_EQ(answer, "still") << "the newest is not the one that ends";
    server.cancel();
    co_await server.wait();
}

WEIR_IO_TEST(Serve, RetiresWithoutLosingAConnection) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    const int shared = ::dup(listener.fd());
    weir::tcp::serve_control control;
    auto server =
        weir::spawn(weir::tcp::serve(std::move(listener), echo_for_a_while, {.control = &control}));
    weir::io::socket kept = co_await weir::io::connect(at);
    std::string answer = co_await ask(kept, "one");
    control.retire();
    answer = co_await ask(kept, "two");
    EXPECT_EQ(answer, "two") << "a request that comes meanwhile is answered";
    std::array<char, 1> nothing;
    const std::size_t end = co_await kept.read(nothing);
    EXPECT_EQ(end, 0U);
    weir::io::socket late = co_await weir::io::connect(at);
    answer = co_await ask(late, "three");
    control.stop_accepting();
    co_await weir::sleep(10ms);
    // The successor accepts from the same queue.
    weir::io::socket queued = co_await weir::io::connect(at);
    weir::io::listener successor(shared);
    auto next = weir::spawn(weir::tcp::serve(std::move(successor), echo_for_a_while));
    answer = co_await ask(queued, "four");
    EXPECT_EQ(answer, "four");
    for (const auto& each : {server, next}) {
        each.cancel();
        co_await each.wait();
    }
}

TEST(Serve, BadOptions) {
    EXPECT_THROW((void)weir::tcp::serve(address::loopback(0), echo, {.max_connections = 0}),
                 weir::invalid_argument);
    EXPECT_THROW((void)weir::tcp::serve(address::loopback(0), echo, {.drain_deadline = -1s}),
                 weir::invalid_argument);
}

}  // namespace
