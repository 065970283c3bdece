// SPDX-License-Identifier: MIT
// ES: eager start.

#include <support/loops.hpp>

#include <weir/testing/testing.hpp>

namespace {

using namespace std::chrono_literals;
using weir_test::simulated;

constexpr weir::spawn_options eagerly{.start = weir::start::eager};

WEIR_TEST(Semantics, ES_01) {
    std::vector<int> order;
    auto ready = [&]() -> weir::task<int> {
        order.push_back(1);
        co_return 7;
    };
    weir::handle<int> done = weir::spawn(ready(), eagerly);
    order.push_back(2);
    EXPECT_TRUE(done.done());
    EXPECT_EQ(done.result(), 7);
    EXPECT_EQ(weir::loop::current().next_deadline(), std::nullopt) << "something was queued";
    auto blocks = [&]() -> weir::task<> {
        order.push_back(3);
        co_await weir::sleep(1s);
        order.push_back(5);
    };
    weir::handle<> waiting = weir::spawn(blocks(), eagerly);
    order.push_back(4);
    EXPECT_FALSE(waiting.done());
    co_await waiting;
    EXPECT_EQ(order, (std::vector{1, 2, 3, 4, 5}));
    // Nested eager starts.
    int depth = 0;
    std::function<weir::task<>(int)> nest = [&](int left) -> weir::task<> {
        ++depth;
        if (left > 0) {
            weir::handle<> inner = weir::spawn(nest(left - 1), eagerly);
            co_await inner;
        }
    };
    weir::handle<> deep = weir::spawn(nest(10000), eagerly);
    co_await deep;
    EXPECT_EQ(depth, 10001);
}

WEIR_TEST(Semantics, ES_02) {
    const weir::any_handle spawner = weir::current_task();
    weir::any_handle seen;
    std::size_t listed = 0;
    bool found = false;
    auto body = [&]() -> weir::task<> {
        seen = weir::current_task();
        const auto all = weir::all_tasks();
        listed = all.size();
        found = std::find(all.begin(), all.end(), seen) != all.end();
        co_return;
    };
    weir::handle<> done = weir::spawn(body(), eagerly);
    EXPECT_EQ(seen, done);
    EXPECT_TRUE(found);
    EXPECT_EQ(listed, 2u);
    EXPECT_EQ(weir::current_task(), spawner);
    EXPECT_EQ(weir::all_tasks(), std::vector<weir::any_handle>{spawner});
    auto blocks = []() -> weir::task<> { co_await weir::sleep(1s); };
    weir::handle<> waiting = weir::spawn(blocks(), eagerly);
    EXPECT_EQ(weir::current_task(), spawner);
    EXPECT_EQ(weir::all_tasks().size(), 2u);
    co_await waiting;
    co_return;
}

WEIR_TEST(Semantics, ES_03) {
    auto fails = []() -> weir::task<int> {
        throw std::runtime_error("at once");
        co_return 1;
    };
    weir::handle<int> failed = weir::spawn(fails(), eagerly);
    EXPECT_TRUE(failed.failed());
    WEIR_EXPECT_THROW(failed, std::runtime_error);
    auto ready = []() -> weir::task<int> { co_return 7; };
    weir::handle<int> done = weir::spawn(ready(), eagerly);
    EXPECT_FALSE(done.cancel());
    EXPECT_FALSE(done.cancelled());
    EXPECT_EQ(done.result(), 7);
    bool went_on = false;
    bool destroyed = false;
    struct mark {
        bool& flag;
        ~mark() { flag = true; }
    };
    auto blocks = [&]() -> weir::task<> {
        const mark local{destroyed};
        co_await weir::sleep(1h);
        went_on = true;
    };
    weir::handle<> waiting = weir::spawn(blocks(), eagerly);
    EXPECT_TRUE(waiting.cancel());
    WEIR_EXPECT_THROW(waiting, weir::cancelled);
    EXPECT_TRUE(destroyed);
    EXPECT_FALSE(went_on);
}

TEST(Semantics, ES_04) {
    weir::loop loop(simulated());
    int steps = 0;
    auto body = [&]() -> weir::task<> {
        ++steps;
        co_return;
    };
    weir::handle<> early = loop.spawn(body(), {.start = weir::start::eager});
    EXPECT_EQ(steps, 0) << "the loop is not running";
    EXPECT_FALSE(early.done());
    auto main = [&]() -> weir::task<> {
        co_await early;
        EXPECT_EQ(steps, 1);
        loop.set_eager(true);
        weir::handle<> by_default = weir::spawn(body());
        EXPECT_EQ(steps, 2);
        weir::handle<> later = weir::spawn(body(), {.start = weir::start::later});
        EXPECT_EQ(steps, 2);
        weir::handle<> called = weir::spawn(body);
        EXPECT_EQ(steps, 3);
        loop.set_eager(false);
        weir::handle<> plain = weir::spawn(body());
        EXPECT_EQ(steps, 3);
        weir::handle<> eager = weir::spawn(body(), {.start = weir::start::eager});
        EXPECT_EQ(steps, 4);
        co_await later;
        co_await plain;
        EXPECT_EQ(steps, 6);
    };
    loop.run(main());
}

}  // namespace
