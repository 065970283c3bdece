// SPDX-License-Identifier: MIT
// Work that other threads start on a loop, and cancels that race with its end. To be run with the
// thread sanitizer too.

#include <weir/foreign.hpp>
#include <weir/stop_token.hpp>
#include <weir/submit.hpp>
#include <weir/testing/testing.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

class joined_threads {
public:
    ~joined_threads() {
        for (std::thread& each : list) {
            each.join();
        }
    }
    std::vector<std::thread> list;
};

TEST(Submit, ManyThreadsManyTasksAndCancelsThatRace) {
    weir::loop loop;
    std::thread runner([&] { loop.run_forever(); });
    constexpr int threads = 4;
    constexpr int each = 200;
    std::atomic<int> values = 0;
    std::atomic<int> cancelled = 0;
    {
        joined_threads submitters;
        for (int thread = 0; thread < threads; ++thread) {
            submitters.list.emplace_back([&, thread] {
                for (int number = 0; number < each; ++number) {
                    auto submitted = loop.submit(
                        [](int own) -> weir::task<int> {
                            for (int turn = 0; turn < own % 4; ++turn) {
                                co_await weir::yield();
                            }
                            co_return own;
                        },
                        number);
                    if ((number + thread) % 2 == 0) {
                        submitted.cancel();
                    }
                    if (number % 5 == 0) {
                        continue;  // dropped: it runs on
                    }
                    try {
                        EXPECT_EQ(submitted.get(), number);
                        ++values;
                    } catch (const weir::cancelled&) {
                        ++cancelled;
                    }
                }
            });
        }
    }
    EXPECT_EQ(values + cancelled, threads * each * 4 / 5);
    loop.post([&] { loop.stop(); });
    runner.join();
}

TEST(Submit, ALoopThatClosesTellsTheSubmitters) {
    for (int round = 0; round < 50; ++round) {
        auto loop = std::make_unique<weir::loop>();
        auto waiting = loop->submit([]() -> weir::task<> { co_await weir::sleep_forever(); });
        if (round % 2 == 0) {
            std::thread runner(
                [&] { loop->run([]() -> weir::task<> { co_await weir::yield(); }()); });
            runner.join();
        }
        loop.reset();
        EXPECT_ANY_THROW(waiting.get());  // cancelled, or loop_error if it was never started
        EXPECT_FALSE(waiting.cancel());
    }
}

}  // namespace
