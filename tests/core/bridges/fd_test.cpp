// SPDX-License-Identifier: MIT
// Waiting for descriptors, and a loop that is a guest in another.

#include <weir/fd.hpp>
#include <weir/testing/testing.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <system_error>
#include <thread>

namespace {

using namespace std::chrono_literals;

struct pipe_ends {
    std::array<int, 2> ends{};
    pipe_ends() { EXPECT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0); }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;
    ~pipe_ends() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
};

TEST(Fd, BadDescriptorsAreErrors) {
    weir::run([]() -> weir::task<> {
        WEIR_EXPECT_THROW(weir::wait_readable(-1), std::system_error);
        WEIR_EXPECT_THROW(weir::wait_writable(9999), std::system_error);
        std::FILE* file = std::tmpfile();
        WEIR_EXPECT_THROW(weir::wait_readable(::fileno(file)), std::system_error);
        std::fclose(file);

        pipe_ends pipe;
        auto first =
            weir::spawn([&]() -> weir::task<> { co_await weir::wait_readable(pipe.ends[0]); });
        co_await weir::sleep(1ms);
        WEIR_EXPECT_THROW(weir::wait_readable(pipe.ends[0]), weir::invalid_state);
        EXPECT_EQ(::write(pipe.ends[1], "x", 1), 1);
        co_await first;
    }());
}

WEIR_TEST(Fd, SimulatedTimeKnowsNone) {
    WEIR_EXPECT_THROW(weir::wait_readable(0), weir::loop_error);
}

TEST(Fd, TimeoutsAndTheEndOfAStream) {
    weir::run([]() -> weir::task<> {
        pipe_ends pipe;
        for (int times = 0; times < 3; ++times) {
            WEIR_EXPECT_THROW(weir::timeout(1ms, weir::wait_readable(pipe.ends[0])),
                              weir::timed_out);
        }
        ::close(std::exchange(pipe.ends[1], -1));
        co_await weir::wait_readable(pipe.ends[0]);  // the end can be read
        char none = 0;
        EXPECT_EQ(::read(pipe.ends[0], &none, 1), 0);
    }());
}

// The kernel forgets a descriptor that is closed, while a wait for it is left behind.
TEST(Fd, ANumberThatWasClosedAndIsUsedAgainCanBeAwaited) {
    auto body = []() -> weir::task<> {
        pipe_ends gone;
        pipe_ends fresh;
        const int number = gone.ends[0];
        auto left = weir::spawn([&]() -> weir::task<> { co_await weir::wait_readable(number); });
        co_await weir::sleep(1ms);
        ::close(number);
        EXPECT_EQ(::fcntl(fresh.ends[1], F_DUPFD_CLOEXEC, number), number);
        co_await weir::timeout(10s, weir::wait_writable(number));
        left.cancel();
        co_await left.wait();
    };
    weir::run(body(), {.driver = weir::driver_kind::epoll});
}

// A host that knows only poll(2).
TEST(Guest, TimersPostsAndDescriptors) {
    weir::loop loop;
    pipe_ends pipe;
    std::vector<std::string> log;
    auto sleeper = loop.spawn([](std::vector<std::string>& into) -> weir::task<> {
        co_await weir::sleep(3ms);
        into.push_back("slept");
    }(log));
    auto reader = loop.spawn([](int fd, std::vector<std::string>& into) -> weir::task<> {
        co_await weir::wait_readable(fd);
        into.push_back("read");
    }(pipe.ends[0], log));
    bool posted = false;
    std::thread other([&] {
        std::this_thread::sleep_for(6ms);
        EXPECT_EQ(::write(pipe.ends[1], "x", 1), 1);
        std::this_thread::sleep_for(3ms);
        loop.post([&] { posted = true; });
    });
    const auto due = loop.next_deadline();
    EXPECT_TRUE(due && *due <= loop.now() && *due > weir::clock::time_point::min())
        << "tasks are ready";
    for (int turns = 0; turns < 1000 && !(posted && reader.done() && sleeper.done()); ++turns) {
        while (loop.poll()) {
        }
        int timeout = 5000;
        if (const auto deadline = loop.next_deadline()) {
            const auto now = loop.now();
            timeout = static_cast<int>(
                std::chrono::ceil<std::chrono::milliseconds>(std::max(*deadline, now) - now)
                    .count());
        }
        if (!posted) {
            pollfd watched{loop.fd(), POLLIN, 0};
            EXPECT_GE(::poll(&watched, 1, timeout), 0);
        }
    }
    other.join();
    EXPECT_TRUE(posted);
    std::sort(log.begin(), log.end());  // on a busy machine either may be first
    EXPECT_EQ(log, (std::vector<std::string>{"read", "slept"}));
    EXPECT_EQ(loop.next_deadline(), std::nullopt);
}

}  // namespace
