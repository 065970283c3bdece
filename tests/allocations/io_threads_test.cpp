// SPDX-License-Identifier: MIT
// Calls on a thread pool, and items of a channel between threads, allocate nothing after warm-up.

#include "allocations/counting.hpp"

#include <weir/io/channel.hpp>
#include <weir/io/thread_pool.hpp>

#include <thread>

namespace {

using counting::in_steady_state;
using weir::task;

TEST(Allocations, ThreadPool) {
    weir::thread_pool pool({.max_threads = 1});  // a second one might start late
    auto once = [&]() -> task<> {
        const int sum = co_await pool.run([](int left, int right) { return left + right; }, 1, 2);
        EXPECT_EQ(sum, 3);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, ChannelBetweenThreads) {
    weir::channel<int> questions(1);
    weir::channel<int> answers(1);
    std::thread other([&] {
        while (auto question = questions.receive_blocking()) {
            answers.send_blocking(*question * 2);
        }
    });
    auto once = [&]() -> task<> {
        co_await questions.send(21);
        const auto answer = co_await answers.receive();
        EXPECT_EQ(answer, 42);
    };
    EXPECT_EQ(in_steady_state(once, weir::driver_kind::epoll), 0u);
    questions.close();
    other.join();
}

}  // namespace
