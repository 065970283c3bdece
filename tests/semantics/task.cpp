// SPDX-License-Identifier: MIT
// T: tasks and their handles.

#include <support/loops.hpp>

#include <weir/testing/testing.hpp>

#include <type_traits>

namespace {

using namespace std::chrono_literals;
using weir_test::simulated;

WEIR_TEST(Semantics, T_01) {
    weir::testing::allow_report(weir::report_kind::never_awaited);  // in debug mode
    auto token = std::make_shared<int>(0);
    bool ran = false;
    auto body = [&ran](std::shared_ptr<int>) -> weir::task<int> {
        ran = true;
        co_return 1;
    };
    {
        weir::task<int> dropped = body(token);
        EXPECT_FALSE(ran);
        EXPECT_EQ(token.use_count(), 2);
    }
    EXPECT_FALSE(ran);
    EXPECT_EQ(token.use_count(), 1) << "its arguments are destroyed with it";
    weir::task<int> awaited = body(token);
    EXPECT_FALSE(ran);
    const int got = co_await std::move(awaited);
    EXPECT_EQ(got, 1);
    EXPECT_TRUE(ran);
    ran = false;
    weir::handle<int> spawned = weir::spawn(body(token));
    EXPECT_FALSE(ran);
    co_await spawned;
    EXPECT_TRUE(ran);
}

TEST(Semantics, T_02) {
    auto main = []() -> weir::task<> {
        std::vector<int> order;
        auto body = [&](int number) -> weir::task<> {
            order.push_back(number);
            co_return;
        };
        std::vector<weir::handle<>> handles;
        for (int number = 0; number < 100; ++number) {
            handles.push_back(weir::spawn(body(number)));
            EXPECT_TRUE(order.empty());
        }
        co_await weir::yield();
        EXPECT_EQ(order.size(), 100u);
        EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    };
    weir::run(main(), simulated());
}

WEIR_TEST(Semantics, T_03) {
    const weir::any_handle self = weir::current_task();
    bool other_ran = false;
    auto other = [&]() -> weir::task<> {
        other_ran = true;
        co_return;
    };
    auto inner = [&]() -> weir::task<bool> { co_return weir::current_task() == self; };
    auto outer = [&]() -> weir::task<bool> {
        const bool same = co_await inner();
        co_return same&& weir::current_task() == self;
    };
    weir::handle<> waiting = weir::spawn(other());
    const bool same = co_await outer();
    EXPECT_TRUE(same);
    EXPECT_FALSE(other_ran) << "a turn of the loop went by";
    co_await waiting;
}

template <class Task>
concept copyable = std::is_copy_constructible_v<Task> || std::is_copy_assignable_v<Task>;
static_assert(!copyable<weir::task<int>>);

WEIR_TEST(Semantics, T_04) {
    int runs = 0;
    auto body = [&]() -> weir::task<int> {
        ++runs;
        co_return 1;
    };
    weir::task<int> once = body();
    co_await std::move(once);
    EXPECT_FALSE(once.valid());
    WEIR_EXPECT_THROW(std::move(once), weir::invalid_state);
    EXPECT_THROW(weir::spawn(std::move(once)), weir::invalid_state);
    EXPECT_EQ(runs, 1);
}

WEIR_TEST(Semantics, T_05) {
    weir::handle<int> own;
    bool threw = false;
    auto body = [&]() -> weir::task<int> {
        try {
            co_await own;
        } catch (const weir::invalid_state& error) {
            threw = weir_test::contains(error.what(), "awaits its own handle");
        }
        try {
            co_await own.wait();
            ADD_FAILURE() << "wait() on itself returned";
        } catch (const weir::invalid_state&) {
        }
        co_return 3;
    };
    own = weir::spawn(body());
    const int got = co_await own;
    EXPECT_EQ(got, 3);
    EXPECT_TRUE(threw);
}

WEIR_TEST(Semantics, T_06) {
    ::testing::Test::RecordProperty(
        "deviates", "all_tasks() of a loop is asked on its own thread: post a callback that asks");
    auto& loop = weir::loop::current();
    bool called = false;
    loop.call_soon([&] {
        called = true;
        EXPECT_FALSE(weir::current_task().valid());
    });
    auto body = [](int rounds) -> weir::task<> {
        const weir::any_handle self = weir::current_task();
        EXPECT_TRUE(self.valid());
        for (int round = 0; round < rounds; ++round) {
            if (round % 2 == 0) {
                co_await weir::yield();
            } else {
                co_await weir::sleep(1ms);
            }
            EXPECT_EQ(weir::current_task(), self);
        }
    };
    const weir::any_handle main = weir::current_task();
    std::vector<weir::handle<>> handles;
    for (int index = 0; index < 10; ++index) {
        handles.push_back(weir::spawn(body(index)));
    }
    EXPECT_EQ(weir::all_tasks().size(), 11u);
    for (weir::handle<>& each : handles) {
        co_await each;
        EXPECT_EQ(weir::current_task(), main);
    }
    EXPECT_EQ(weir::all_tasks(), std::vector<weir::any_handle>{main});
    EXPECT_TRUE(called);
    // From another thread: through post.
    loop.expect_post();
    std::size_t seen = 0;
    std::thread asker([&] {
        loop.post([&] {
            seen = loop.all_tasks().size();
            loop.expected_post_came();
        });
    });
    while (seen == 0) {
        co_await weir::sleep(1ms);
    }
    asker.join();
    EXPECT_EQ(seen, 1u);
}

WEIR_TEST(Semantics, T_07) {
    auto fails = []() -> weir::task<int> {
        co_await weir::sleep(1s);
        throw std::runtime_error("told to");
    };
    auto works = []() -> weir::task<int> {
        co_await weir::sleep(2s);
        co_return 5;
    };
    weir::handle<int> failing = weir::spawn(fails());
    weir::handle<int> sibling = weir::spawn(works());
    auto awaits = [](weir::handle<int> from) -> weir::task<std::string> {
        try {
            co_await from;
        } catch (const std::runtime_error& error) {
            co_return error.what();
        }
        co_return "nothing";
    };
    weir::handle<std::string> first = weir::spawn(awaits(failing));
    weir::handle<std::string> second = weir::spawn(awaits(failing));
    const std::string one = co_await first;
    const std::string two = co_await second;
    EXPECT_EQ(one, "told to");
    EXPECT_EQ(two, "told to");
    EXPECT_TRUE(failing.failed());
    EXPECT_THROW(failing.result(), std::runtime_error);
    EXPECT_NE(failing.error(), nullptr);
    const int got = co_await sibling;
    EXPECT_EQ(got, 5);
    // Outsiders have no way to set a result: a handle only gives.
    static_assert(std::is_same_v<decltype(failing.result()), const int&>);
}

TEST(Semantics, T_08) {
    auto main = []() -> weir::task<> {
        auto idle = []() -> weir::task<> { co_return; };
        long last = 0;
        std::vector<weir::handle<>> handles;
        for (int index = 0; index < 5; ++index) {
            handles.push_back(weir::spawn(idle()));
            const std::string name = handles.back().name();
            EXPECT_EQ(name.substr(0, 5), "task-");
            const long number = std::stol(name.substr(5));
            EXPECT_GT(number, last);
            last = number;
            EXPECT_EQ(handles.back().name(), name);
        }
        std::string seen;
        auto named = [&]() -> weir::task<> {
            seen = weir::current_task().name();
            co_return;
        };
        weir::handle<> own = weir::spawn(named(), {.name = "printer"});
        EXPECT_EQ(own.name(), "printer");
        co_await own;
        EXPECT_EQ(seen, "printer");
        own.set_name("renamed");
        EXPECT_EQ(own.name(), "renamed");
    };
    weir::run(main(), simulated());
}

WEIR_TEST(Semantics, T_09) {
    auto inner = []() -> weir::task<int> {
        co_await weir::sleep(5s);
        co_return 9;
    };
    auto outer = [&]() -> weir::task<weir::handle<int>> { co_return weir::spawn(inner()); };
    weir::handle<weir::handle<int>> task = weir::spawn(outer());
    weir::handle<int> delivered = co_await task;
    EXPECT_FALSE(delivered.done()) << "it was awaited on the way";
    const int got = co_await delivered;
    EXPECT_EQ(got, 9);
}

weir::task<int> nested(int depth) {
    if (depth == 0) {
        co_await weir::yield();
        co_return 0;
    }
    const int below = co_await nested(depth - 1);
    co_return below + 1;
}

WEIR_TEST(Semantics, T_10) {
    const int depth = co_await nested(100000);
    EXPECT_EQ(depth, 100000);
    auto ready = []() -> weir::task<int> { co_return 1; };
    int sum = 0;
    for (int index = 0; index < 1000000; ++index) {
        const int got = co_await ready();
        sum += got;
    }
    EXPECT_EQ(sum, 1000000);
    weir::handle<int> done = weir::spawn(ready());
    co_await done;
    for (int index = 0; index < 1000000; ++index) {
        const int got = co_await done;
        sum += got;
    }
    EXPECT_EQ(sum, 2000000);
}

}  // namespace
