// SPDX-License-Identifier: MIT
// AG: asynchronous generators.

#include <weir/generator.hpp>
#include <weir/testing/testing.hpp>

#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

WEIR_TEST(Semantics, AG_01) {
    bool started = false;
    auto make = [&](bool fails) -> weir::generator<int> {
        started = true;
        for (int each = 1; each <= 3; ++each) {
            co_await weir::sleep(1s);
            co_yield each;
        }
        co_await weir::sleep(1s);
        if (fails) {
            throw std::runtime_error("the body failed");
        }
    };
    auto numbers = make(false);
    co_await weir::sleep(1h);
    EXPECT_FALSE(started) << "a generator starts lazily";
    const auto begin = weir::now();
    std::vector<int> seen;
    while (auto number = co_await numbers.next()) {
        seen.push_back(*number);
    }
    EXPECT_EQ(seen, (std::vector{1, 2, 3}));
    EXPECT_EQ(weir::now() - begin, 4s);
    for (int again = 0; again < 3; ++again) {
        auto end = co_await numbers.next();
        EXPECT_FALSE(end) << "the end stays the end";
    }

    auto failing = make(true);
    for (int each = 1; each <= 3; ++each) {
        auto number = co_await failing.next();
        EXPECT_EQ(*number, each);
    }
    WEIR_EXPECT_THROW(failing.next(), std::runtime_error);
    auto end = co_await failing.next();
    EXPECT_FALSE(end) << "the exception comes once, then the end";
}

WEIR_TEST(Semantics, AG_02) {
    strings log;
    auto make = [&]() -> weir::generator<int> {
        log.push_back("begin");
        co_await weir::defer([&]() -> weir::task<> {
            log.push_back("clean-up begins");
            co_await weir::sleep(1s);
            log.push_back("clean-up ends");
        });
        struct local {
            strings& log;
            ~local() { log.push_back("local"); }
        } const mark{log};
        co_yield 1;
        log.push_back("after the yield");
        co_yield 2;
    };
    auto suspended = make();
    auto item = co_await suspended.next();
    EXPECT_EQ(*item, 1);
    co_await suspended.close();
    EXPECT_EQ(log, (strings{"begin", "local", "clean-up begins", "clean-up ends"}));
    auto end = co_await suspended.next();
    EXPECT_FALSE(end);

    log.clear();
    auto unstarted = make();
    co_await unstarted.close();
    EXPECT_TRUE(log.empty()) << "the body never runs";
    auto nothing = co_await unstarted.next();
    EXPECT_FALSE(nothing);
    EXPECT_TRUE(log.empty());
}

WEIR_TEST(Semantics, AG_03) {
    int cleaned = 0;
    auto make = [&]() -> weir::generator<int> {
        co_await weir::defer([&]() -> weir::task<> {
            co_await weir::yield();
            ++cleaned;
        });
        co_yield 1;
    };
    auto closed = make();
    (void)co_await closed.next();
    co_await closed.close();
    co_await closed.close();
    EXPECT_EQ(cleaned, 1);

    auto exhausted = make();
    while (auto item = co_await exhausted.next()) {
    }
    EXPECT_EQ(cleaned, 2);
    co_await exhausted.close();
    co_await exhausted.close();
    EXPECT_EQ(cleaned, 2);
}

// Yielding again while being closed cannot be written: closing destroys the body, and the clean-up
// it deferred is a task, in which co_yield does not compile.
WEIR_TEST(Semantics, AG_04) {
    auto make = []() -> weir::generator<int> {
        for (int each = 1;; ++each) {
            co_await weir::sleep(10s);
            co_yield each;
        }
    };
    auto numbers = make();
    auto first = weir::spawn([&]() -> weir::task<int> {
        auto item = co_await numbers.next();
        co_return *item;
    });
    co_await weir::sleep(5s);
    WEIR_EXPECT_THROW(numbers.next(), weir::invalid_state);
    WEIR_EXPECT_THROW(numbers.close(), weir::invalid_state);
    const int undisturbed = co_await first;
    EXPECT_EQ(undisturbed, 1);

    auto once = numbers.next();
    auto second = co_await once;
    EXPECT_EQ(*second, 2);
    WEIR_EXPECT_THROW(once, weir::invalid_state);
    auto third = co_await numbers.next();
    EXPECT_EQ(*third, 3);
}

WEIR_TEST(Semantics, AG_05) {
    strings log;
    auto inner = [&]() -> weir::task<> {
        struct local {
            strings& log;
            ~local() { log.push_back("inner local"); }
        } const mark{log};
        co_await weir::sleep_forever();
    };
    auto make = [&]() -> weir::generator<int> {
        co_await weir::defer([&]() -> weir::task<> {
            co_await weir::sleep(1s);
            log.push_back("generator's clean-up");
        });
        co_yield 1;
        co_await inner();
        co_yield 2;
    };
    auto numbers = make();
    auto consumer = weir::spawn([&]() -> weir::task<> {
        while (auto item = co_await numbers.next()) {
        }
    });
    consumer.add_done_callback([&](const weir::handle<>&) { log.push_back("consumer ended"); });
    co_await weir::sleep(1s);
    const auto asked = weir::now();
    consumer.cancel("enough");
    std::string reason;
    try {
        co_await consumer;
    } catch (const weir::cancelled& stop) {
        reason = stop.reason();
    }
    EXPECT_EQ(reason, "enough");
    EXPECT_EQ(weir::now() - asked, 1s);
    co_await weir::sleep(1s);
    EXPECT_EQ(log, (strings{"inner local", "generator's clean-up", "consumer ended"}));
    WEIR_EXPECT_THROW(numbers.next(), weir::generator_stopped);
}

TEST(Semantics, AG_06) {
    strings log;
    strings reports;
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.on_report = [&](const weir::report& about) { reports.push_back(about.message); };
    auto make = [&](std::string name, bool fails) -> weir::generator<int> {
        auto clean = [&log](std::string of, bool throws) -> weir::task<> {
            co_await weir::sleep(1s);
            log.push_back(of);
            if (throws) {
                throw std::runtime_error(of + " failed to close");
            }
        };
        co_await weir::defer(clean, name, fails);
        co_yield 1;
        log.push_back("went on");
    };
    std::vector<weir::generator<int>> live;
    auto main = [&]() -> weir::task<> {
        {
            auto abandoned = make("abandoned", false);
            (void)co_await abandoned.next();
        }
        EXPECT_TRUE(log.empty()) << "closing is asynchronous";
        co_await weir::sleep(2s);
        EXPECT_EQ(log, (strings{"abandoned"}));
        {
            auto unstarted = make("unstarted", true);
        }
        {
            auto failing = make("dropped", true);
            (void)co_await failing.next();
        }
        co_await weir::sleep(2s);
        live.push_back(make("first", false));
        live.push_back(make("second", true));
        live.push_back(make("third", false));
        live.push_back(make("unstarted", false));
        for (int index = 0; index < 3; ++index) {
            (void)co_await live[static_cast<std::size_t>(index)].next();
        }
    };
    weir::run(main(), std::move(options));
    ASSERT_EQ(log.size(), 5u);
    EXPECT_EQ(log[1], "dropped");
    std::sort(log.begin() + 2, log.end());
    EXPECT_EQ(log, (strings{"abandoned", "dropped", "first", "second", "third"}));
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_NE(reports[0].find("dropped failed to close"), std::string::npos);
    EXPECT_NE(reports[1].find("second failed to close"), std::string::npos);
}

TEST(Semantics, AG_07) {
    for (const bool debug : {false, true}) {
        weir::loop_options options;
        options.debug = debug;
        strings reports;
        options.on_report = [&](const weir::report& about) { reports.push_back(about.message); };
        const std::thread::id home = std::this_thread::get_id();
        struct at_end {
            std::thread::id& where;
            ~at_end() { where = std::this_thread::get_id(); }
        };
        std::thread::id body_ended_on;
        std::thread::id cleaned_up_on;
        auto clean = [&]() -> weir::task<> {
            co_await weir::yield();
            cleaned_up_on = std::this_thread::get_id();
        };
        auto make = [&]() -> weir::generator<int> {
            co_await weir::defer(clean);
            const at_end ended{body_ended_on};
            co_yield 1;
            ADD_FAILURE() << "went on";
        };
        auto main = [&]() -> weir::task<> {
            auto abandoned = make();
            (void)co_await abandoned.next();
            std::thread other([last = std::move(abandoned)]() mutable {
                const weir::generator<int> dropped_here = std::move(last);
            });
            while (cleaned_up_on == std::thread::id()) {
                co_await weir::sleep(1ms);
            }
            other.join();
        };
        weir::run(main(), std::move(options));
        EXPECT_EQ(body_ended_on, home);
        EXPECT_EQ(cleaned_up_on, home);
        EXPECT_EQ(reports, strings()) << "debug: " << debug;
    }
}

}  // namespace
