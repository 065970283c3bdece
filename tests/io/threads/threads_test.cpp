// SPDX-License-Identifier: MIT
// run_on_threads and on_threads: one loop per thread, failures and cancellations that reach all.

#include "support.hpp"

#include <weir/io/channel.hpp>
#include <weir/io/threads.hpp>
#include <weir/weir.hpp>

#include <unistd.h>

#include <csignal>
#include <set>

namespace {

using namespace io_threads_tests;
using weir::run_on_threads;
using weir::task;

// Waits until so many tasks have arrived here, on any loops.
task<> meet(std::atomic<int>& arrived, int count) {
    ++arrived;
    while (arrived < count) {
        co_await weir::sleep(100us);
    }
}

TEST(RunOnThreads, OneLoopForEachThread) {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    std::set<weir::loop*> loops;
    std::atomic<int> arrived = 0;
    const auto home = std::this_thread::get_id();
    const std::vector<std::string> results =
        run_on_threads(4, [&](std::size_t index) -> task<std::string> {
            {
                const std::lock_guard lock(mutex);
                threads.insert(std::this_thread::get_id());
                loops.insert(&weir::loop::current());
                EXPECT_EQ(index == 0, std::this_thread::get_id() == home);
            }
            // A loop that has ended could lend its address to the next.
            co_await meet(arrived, 4);
            co_return "loop " + std::to_string(index);
        });
    EXPECT_EQ(results, (std::vector<std::string>{"loop 0", "loop 1", "loop 2", "loop 3"}));
    EXPECT_EQ(threads.size(), 4u);
    EXPECT_EQ(loops.size(), 4u);

    std::atomic<std::size_t> count = 0;
    run_on_threads([&](std::size_t) -> task<> {
        ++count;
        co_return;
    });
    EXPECT_EQ(count, weir::processor_count());
}

TEST(RunOnThreads, TheFirstFailureCancelsTheOthers) {
    std::atomic<int> begun = 0;
    std::atomic<int> unwound = 0;
    try {
        run_on_threads(4, [&](std::size_t index) -> task<> {
            struct mark {
                std::atomic<int>& count;
                ~mark() { ++count; }
            } const at_end{unwound};
            co_await meet(begun, 4);
            if (index == 2) {
                throw std::domain_error("loop 2");
            }
            co_await weir::sleep_forever();
        });
        ADD_FAILURE() << "nothing thrown";
    } catch (const std::domain_error& error) {
        EXPECT_STREQ(error.what(), "loop 2");
    }
    EXPECT_EQ(unwound, 4);
}

TEST(RunOnThreads, FurtherErrorsAreReported) {
    std::atomic<int> reports = 0;
    weir::loop_options options;
    options.on_report = [&](const weir::report& about) {
        EXPECT_EQ(about.kind, weir::report_kind::suppressed_error);
        EXPECT_NE(about.message.find("while ending"), std::string::npos) << about.message;
        ++reports;
    };
    std::atomic<int> begun = 0;
    auto main = [&](std::size_t index) -> task<> {
        if (index == 0) {
            co_await meet(begun, 3);
            throw std::domain_error("first");
        }
        auto wait = [&]() -> task<> {
            co_await meet(begun, 0);
            co_await weir::sleep_forever();
        };
        auto fails = []() -> task<> {
            co_await weir::sleep(1ms);
            throw std::runtime_error("while ending");
        };
        co_await weir::finally(wait, fails);
    };
    EXPECT_THROW(run_on_threads(3, main, std::move(options)), std::domain_error);
    EXPECT_EQ(reports, 2);
}

TEST(RunOnThreads, AReportMayCauseAnother) {
    int reports = 0;  // not atomic: one thread at a time reports
    weir::loop_options options;
    options.on_report = [&](const weir::report&) {
        if (++reports % 2 == 1) {
            weir::loop::current().tell({weir::report_kind::callback_error, "again", {}, {}, {}});
        }
    };
    auto main = [](std::size_t) -> task<> {
        for (int round = 0; round < 10; ++round) {
            weir::loop::current().tell({weir::report_kind::callback_error, "once", {}, {}, {}});
            co_await weir::yield();
        }
    };
    run_on_threads(3, main, std::move(options));
    EXPECT_EQ(reports, 60);
}

TEST(RunOnThreads, CanBeCancelledFromOutside) {
    std::stop_source source;
    gate entrance;
    entrance.open();
    std::atomic<int> stopped = 0;
    joined_threads threads;
    threads.start([&] {
        entrance.wait_for(3);
        source.request_stop();
    });
    auto main = [&](std::size_t) -> task<> {
        entrance.pass();
        struct mark {
            std::atomic<int>& count;
            ~mark() { ++count; }
        } const at_end{stopped};
        co_await weir::sleep_forever();
    };
    try {
        run_on_threads(3, main, {}, source.get_token());
        ADD_FAILURE() << "nothing thrown";
    } catch (const weir::cancelled& stop) {
        EXPECT_EQ(stop.reason(), "the stop token was requested");
    }
    EXPECT_EQ(stopped, 3);
    // Before it began: no main is called.
    auto never = [](std::size_t) -> task<> {
        ADD_FAILURE() << "was cancelled before";
        co_return;
    };
    EXPECT_THROW(run_on_threads(3, never, {}, source.get_token()), weir::cancelled);
}

TEST(RunOnThreads, OneThatCancelsItselfCancelsAll) {
    std::atomic<int> interrupted = 0;
    auto main = [&](std::size_t index) -> task<> {
        if (index == 1) {
            co_await weir::sleep(1ms);
            weir::current_task().cancel("enough");
        }
        // A second cancel would interrupt the clean-up below: there must be one only.
        auto ending = co_await weir::intercept(weir::sleep_forever());
        EXPECT_TRUE(ending.is_cancelled());
        const auto clean_up = co_await weir::intercept(weir::sleep(3ms));
        interrupted += clean_up.is_cancelled() ? 1 : 0;
        co_await std::move(ending);
    };
    EXPECT_THROW(run_on_threads(3, main), weir::cancelled);
    EXPECT_EQ(interrupted, 0);
}

TEST(RunOnThreads, ASignalReachesAllOfThem) {
    std::atomic<int> begun = 0;
    std::atomic<int> cleaned_up = 0;
    auto main = [&](std::size_t index) -> task<> {
        auto work = [&]() -> task<> {
            co_await meet(begun, 3);
            if (index == 1) {
                ::kill(::getpid(), SIGTERM);
            }
            co_await weir::sleep_forever();
        };
        auto clean_up = [&]() -> task<> {
            // All loops are stopped before the clean-up of any of them has ended.
            ++cleaned_up;
            while (cleaned_up < 3) {
                co_await weir::sleep(100us);
            }
        };
        co_await weir::finally(work, clean_up);
    };
    EXPECT_THROW(run_on_threads(3, main), weir::interrupted);
    EXPECT_EQ(cleaned_up, 3);
}

// Loop 0 has ended before: signals are minded on its thread until all have.
TEST(RunOnThreads, ASignalReachesThoseThatGoOnWithoutTheFirst) {
    static std::atomic<bool> first_is_gone;
    first_is_gone = false;
    struct notices final : weir::loop_service {
        explicit notices(weir::loop&) {}
        ~notices() override { first_is_gone = true; }
    };
    const auto signals_are_minded = [] {
        struct sigaction now{};
        ::sigaction(SIGTERM, nullptr, &now);
        return now.sa_handler != SIG_DFL;
    };
    std::atomic<int> begun = 0;
    std::atomic<int> cleaned_up = 0;
    auto main = [&](std::size_t index) -> task<> {
        if (index == 0) {
            weir::loop::current().service<notices>();
            co_return;
        }
        auto work = [&]() -> task<> {
            co_await meet(begun, 2);
            while (!first_is_gone || !signals_are_minded()) {
                co_await weir::sleep(100us);
            }
            if (index == 1) {
                ::kill(::getpid(), SIGTERM);
            }
            co_await weir::sleep_forever();
        };
        auto clean_up = [&]() -> task<> {
            co_await weir::sleep(1ms);
            ++cleaned_up;
        };
        co_await weir::finally(work, clean_up);
    };
    EXPECT_THROW(run_on_threads(3, main), weir::interrupted);
    EXPECT_EQ(cleaned_up, 2);
    // And no loop waits for ever without a signal.
    run_on_threads(3, [](std::size_t index) -> task<> {
        co_await weir::sleep(std::chrono::milliseconds(index));
    });
}

TEST(RunOnThreads, Misuse) {
    auto main = [](std::size_t) -> task<> { co_return; };
    EXPECT_THROW(run_on_threads(0, main), weir::invalid_argument);
    weir::run([&]() -> task<> {
        EXPECT_THROW(run_on_threads(2, main), weir::loop_error);
        EXPECT_THROW((void)weir::on_threads(0, main), weir::invalid_argument);
        co_return;
    }());
}

WEIR_TEST(OnThreads, TheLoopThatAwaitsGoesOn) {
    const auto home = std::this_thread::get_id();
    std::atomic<bool> is_told = false;
    auto other = weir::spawn([&]() -> task<> {
        co_await weir::yield();
        is_told = true;
    });
    auto main = [&](std::size_t index) -> task<std::size_t> {
        EXPECT_NE(std::this_thread::get_id(), home);
        EXPECT_TRUE(soon([&] { return is_told.load(); }));
        co_return index * 2;
    };
    const auto results = co_await weir::on_threads(3, main);
    EXPECT_EQ(results, (std::vector<std::size_t>{0, 2, 4}));
    co_await other;
    auto fails = [](std::size_t index) -> task<> {
        if (index == 1) {
            throw std::domain_error("one");
        }
        co_await weir::sleep_forever();
    };
    WEIR_EXPECT_THROW_WITH(weir::on_threads(2, fails), std::domain_error, "one");
}

WEIR_TEST(OnThreads, AStopReachesAllOfThem) {
    std::atomic<int> begun = 0;
    std::atomic<int> ended = 0;
    auto main = [&](std::size_t) -> task<> {
        struct mark {
            std::atomic<int>& count;
            ~mark() { ++count; }
        } const at_end{ended};
        ++begun;
        co_await weir::sleep_forever();
    };
    auto waits = weir::spawn([&]() -> task<> { co_await weir::on_threads(3, main); });
    while (begun < 3) {
        co_await weir::yield();
        std::this_thread::sleep_for(20us);
    }
    waits.cancel("go home");
    co_await waits.wait();
    EXPECT_TRUE(waits.cancelled());
    EXPECT_EQ(ended, 3);
}

// Loops that fail, end, cancel themselves or are cancelled from outside at random moments, while
// they pass items to each other: all end, in every order, and throw the expected errors.
TEST(RunOnThreads, RandomEnds) {
    for (unsigned round = 0; round < 120; ++round) {
        weir::channel<int> items(2);
        std::stop_source source;
        std::atomic<int> alive = 0;
        const bool is_stopped = round % 3 == 0;
        auto main = [&](std::size_t index) -> task<> {
            const homing own(alive);
            dice random(round * 10 + static_cast<unsigned>(index));
            const unsigned fate = random.below(4);
            for (unsigned turn = random.below(30); turn > 0; --turn) {
                if (index % 2 == 0) {
                    items.try_send(static_cast<int>(turn));
                    co_await weir::yield();
                } else {
                    auto receive = [&]() -> task<> { (void)co_await items.receive(); };
                    const auto got = co_await weir::settle(weir::timeout(50us, receive));
                    (void)got;
                }
            }
            if (fate == 0) {
                throw std::domain_error("fate");
            }
            if (fate == 1) {
                weir::current_task().cancel();
                co_await weir::yield();
            }
            if (is_stopped && index == 0) {
                source.request_stop();
                co_await weir::sleep_forever();
            }
        };
        try {
            run_on_threads(3, main, {}, source.get_token());
            EXPECT_FALSE(is_stopped);
        } catch (const std::domain_error&) {
        } catch (const weir::cancelled&) {
        }
        EXPECT_EQ(alive, 0);
    }
}

}  // namespace
