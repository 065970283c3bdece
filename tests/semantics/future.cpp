// SPDX-License-Identifier: MIT
// F: futures and done-callbacks.

#include <weir/future.hpp>
#include <weir/testing/testing.hpp>

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

WEIR_TEST(Semantics, F_01) {
    weir::promise<int> promise;
    const auto future = promise.get_future();
    EXPECT_FALSE(future.done());
    EXPECT_FALSE(future.cancelled());
    EXPECT_THROW((void)future.result(), weir::invalid_state);
    EXPECT_THROW((void)future.error(), weir::invalid_state);
    co_return;
}

WEIR_TEST(Semantics, F_02) {
    weir::promise<int> valued;
    const auto value = valued.get_future();
    valued.set_value(1);
    EXPECT_THROW(valued.set_value(2), weir::invalid_state);
    EXPECT_THROW(valued.set_error(std::runtime_error("late")), weir::invalid_state);
    EXPECT_FALSE(value.cancel());
    EXPECT_EQ(value.result(), 1);
    EXPECT_EQ(value.error(), nullptr);

    weir::promise<int> failing;
    const auto failed = failing.get_future();
    failing.set_error(std::runtime_error("failed"));
    EXPECT_THROW(failing.set_value(2), weir::invalid_state);
    EXPECT_FALSE(failed.cancel());
    EXPECT_THROW((void)failed.result(), std::runtime_error);
    EXPECT_NE(failed.error(), nullptr);

    weir::promise<int> called_off;
    const auto cancelled = called_off.get_future();
    EXPECT_TRUE(cancelled.cancel("no longer wanted"));
    EXPECT_FALSE(cancelled.cancel());
    EXPECT_THROW(called_off.set_value(2), weir::invalid_state);
    EXPECT_THROW(called_off.set_error(std::runtime_error("late")), weir::invalid_state);
    EXPECT_TRUE(cancelled.done());
    EXPECT_TRUE(cancelled.cancelled());
    EXPECT_THROW((void)cancelled.result(), weir::cancelled);
    EXPECT_THROW((void)cancelled.error(), weir::cancelled);
    co_return;
}

WEIR_TEST(Semantics, F_03) {
    for (const std::string& how : strings{"value", "error", "cancel"}) {
        weir::promise<int> promise;
        const auto future = promise.get_future();
        strings log;
        auto add = [&](std::string name) {
            future.add_done_callback([&log, name](const weir::future<int>& ended) {
                EXPECT_TRUE(ended.done());
                log.push_back(name);
            });
        };
        add("first");
        add("second");
        if (how == "value") {
            promise.set_value(1);
        } else if (how == "error") {
            promise.set_error(std::runtime_error("failed"));
            EXPECT_NE(future.error(), nullptr);
        } else {
            future.cancel();
        }
        EXPECT_TRUE(log.empty()) << "never inline";
        add("late");
        EXPECT_TRUE(log.empty()) << "nor on a finished one";
        co_await weir::sleep(1s);
        EXPECT_EQ(log, (strings{"first", "second", "late"}));
    }
}

WEIR_TEST(Semantics, F_04) {
    weir::promise<int> promise;
    const auto future = promise.get_future();
    strings log;
    const auto removed = future.add_done_callback([&](const auto&) { log.push_back("removed"); });
    weir::callback_id last{};
    std::size_t removed_in_flight = 99;
    future.add_done_callback([&](const weir::future<int>& ended) {
        removed_in_flight = ended.remove_done_callback(last);
        log.push_back("first");
    });
    last = future.add_done_callback([&](const auto&) { log.push_back("last"); });
    EXPECT_EQ(future.remove_done_callback(removed), 1u);
    EXPECT_EQ(future.remove_done_callback(removed), 0u);
    promise.set_value(1);
    EXPECT_EQ(future.remove_done_callback(last), 0u);
    co_await weir::sleep(1s);
    EXPECT_EQ(log, (strings{"first", "last"}));
    EXPECT_EQ(removed_in_flight, 0u);
}

// Callbacks whose destructors add and remove callbacks of the same future.
WEIR_TEST(Semantics, F_05) {
    struct meddler {
        weir::future<int> future;
        std::vector<weir::callback_id>* ids;
        meddler(weir::future<int> of, std::vector<weir::callback_id>* all)
            : future(std::move(of)), ids(all) {}
        meddler(meddler&& other) noexcept
            : future(std::move(other.future)), ids(std::exchange(other.ids, nullptr)) {}
        ~meddler() {
            if (ids != nullptr && future.valid()) {
                for (const weir::callback_id id : std::exchange(*ids, {})) {
                    future.remove_done_callback(id);
                }
                future.add_done_callback([](const auto&) {});
            }
        }
        void operator()(const weir::future<int>&) const {}
    };
    for (const bool completes : {false, true}) {
        weir::promise<int> promise;
        std::vector<weir::callback_id> ids;
        {
            const auto future = promise.get_future();
            for (int count = 0; count < 10; ++count) {
                ids.push_back(future.add_done_callback(meddler(future, &ids)));
            }
            const auto first = ids.front();
            EXPECT_EQ(future.remove_done_callback(first), 1u);
            EXPECT_EQ(future.remove_done_callback(first), 0u);
            for (int count = 0; count < 10; ++count) {
                ids.push_back(future.add_done_callback(meddler(future, &ids)));
            }
            if (completes) {
                promise.set_value(1);
            } else {
                future.cancel();
            }
        }
        co_await weir::sleep(1s);
    }
}

TEST(Semantics, F_06) {
    strings reports;
    strings log;
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.on_report = [&](const weir::report& about) { reports.push_back(about.message); };
    weir::run(
        [&]() -> weir::task<> {
            weir::promise<> promise;
            const auto future = promise.get_future();
            future.add_done_callback([&](const auto&) { log.push_back("before"); });
            future.add_done_callback(
                [&](const auto&) { throw std::runtime_error("callback failed"); });
            future.add_done_callback([&](const auto&) { log.push_back("after"); });
            promise.set_value();
            co_await weir::sleep(1s);
        }(),
        std::move(options));
    EXPECT_EQ(log, (strings{"before", "after"}));
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_NE(reports[0].find("callback failed"), std::string::npos);
}

TEST(Semantics, F_07) {
    weir::run(
        []() -> weir::task<> {
            bool other_ran = false;
            weir::promise<std::string> valued;
            valued.set_value("a value");
            weir::promise<int> failing;
            failing.set_error(std::runtime_error("failed"));
            const auto value = valued.get_future();
            const auto failed = failing.get_future();
            auto task = weir::spawn([]() -> weir::task<int> { co_return 7; });
            co_await task;
            auto other = weir::spawn([&]() -> weir::task<> {
                other_ran = true;
                co_return;
            });
            for (int times = 0; times < 3; ++times) {
                const std::string& got = co_await value;
                EXPECT_EQ(got, "a value");
                WEIR_EXPECT_THROW(failed, std::runtime_error);
                const int seven = co_await task;
                EXPECT_EQ(seven, 7);
            }
            EXPECT_FALSE(other_ran) << "no turn of the loop";
            co_await other;
        }(),
        {.driver = weir::driver_kind::simulated});
}

TEST(Semantics, F_08) {
    weir::run(
        []() -> weir::task<> {
            weir::promise<int> promise;
            std::vector<int> order;
            std::vector<weir::handle<>> waiters;
            for (int number = 0; number < 5; ++number) {
                waiters.push_back(weir::spawn(
                    [&](int own, weir::future<int> future) -> weir::task<> {
                        co_await weir::sleep((5 - own) * 1s);  // the last one waits first
                        const int value = co_await future;
                        EXPECT_EQ(value, 42);
                        order.push_back(own);
                    },
                    number, promise.get_future()));
            }
            co_await weir::sleep(10s);
            promise.set_value(42);
            for (auto& each : waiters) {
                co_await each;
            }
            EXPECT_EQ(order, (std::vector{4, 3, 2, 1, 0}));
        }(),
        {.driver = weir::driver_kind::simulated});
}

TEST(Semantics, F_09) {
    weir::loop first({.driver = weir::driver_kind::simulated});
    weir::promise<int> promise(first);
    const auto future = promise.get_future();
    auto wait = [&]() -> weir::task<int> {
        const int got = co_await future;
        co_return got;
    };
    weir::loop second({.driver = weir::driver_kind::simulated});
    EXPECT_THROW((void)second.run(wait()), weir::invalid_state);
    promise.set_value(3);
    EXPECT_EQ(first.run(wait()), 3);
}

}  // namespace
