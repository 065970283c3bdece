// SPDX-License-Identifier: MIT
// Work that other threads start on a loop, and cancels that race with its end. To be run with the
// thread sanitizer too.

#include <weir/foreign.hpp>
#include <weir/stop_token.hpp>
#include <weir/submit.hpp>
#include <weir/testing/testing.hpp>

#include <atomic>
#include <stdexcept>
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

// Moves well so often, then throws.
struct fragile {
    explicit fragile(int moves) : left(moves) {}
    fragile(fragile&& other) : left(other.left - 1) {
        if (left < 0) {
            throw std::runtime_error("cannot be moved");
        }
    }
    int left;
};

// Whichever of the moves on the way to the submitter throws, the submitter gets the error.
TEST(Submit, AResultWhoseMoveThrowsIsAnError) {
    weir::loop loop;
    int errors = 0;
    int values = 0;
    std::thread submitter([&] {
        for (int moves = 0; moves < 8; ++moves) {
            auto submitted = loop.submit(
                [](int count) -> weir::task<fragile> {
                    co_await weir::yield();
                    co_return fragile(count);
                },
                moves);
            try {
                (void)submitted.get();
                ++values;
            } catch (const std::runtime_error& error) {
                EXPECT_STREQ(error.what(), "cannot be moved");
                ++errors;
            }
        }
        loop.post([&] { loop.stop(); });
    });
    loop.run_forever();
    submitter.join();
    EXPECT_EQ(errors + values, 8);
    EXPECT_GT(errors, 0);
    EXPECT_GT(values, 0);
}

}  // namespace
