// SPDX-License-Identifier: MIT
// TL: task-local values.

#include <support/loops.hpp>

#include <weir/testing/testing.hpp>

namespace {

using namespace std::chrono_literals;

weir::local<int> number{-1};
weir::local<std::string> word{"none"};

WEIR_TEST(Semantics, TL_01) {
    EXPECT_EQ(number.get(), -1);
    number.set(1);
    auto child = [](int own) -> weir::task<> {
        EXPECT_EQ(number.get(), 1) << "the value at the spawn";
        co_await weir::sleep(std::chrono::milliseconds(own % 7));
        number.set(own);
        for (int round = 0; round < 10; ++round) {
            co_await weir::sleep(std::chrono::milliseconds((own + round) % 5));
            EXPECT_EQ(number.get(), own);
        }
    };
    std::vector<weir::handle<>> children;
    for (int own = 100; own < 200; ++own) {
        children.push_back(weir::spawn(child(own)));
    }
    number.set(2);  // invisible to the children
    for (weir::handle<>& each : children) {
        co_await each;
    }
    EXPECT_EQ(number.get(), 2) << "theirs are invisible here";
}

WEIR_TEST(Semantics, TL_02) {
    auto deeper = []() -> weir::task<> {
        word.set("inner");
        co_return;
    };
    auto inner = [&]() -> weir::task<> {
        EXPECT_EQ(word.get(), "outer");
        co_await weir::yield();
        co_await deeper();
    };
    word.set("outer");
    co_await inner();
    EXPECT_EQ(word.get(), "inner");
    {
        weir::local<std::string>::scoped limited(word, "scoped");
        EXPECT_EQ(word.get(), "scoped");
    }
    EXPECT_EQ(word.get(), "inner");
    word.reset();
    EXPECT_EQ(word.get(), "none");
    {
        weir::local<std::string>::scoped limited(word, "scoped");
        EXPECT_EQ(word.get(), "scoped");
    }
    EXPECT_EQ(word.get(), "none");
}

WEIR_TEST(Semantics, TL_03) {
    auto& loop = weir::loop::current();
    std::vector<int> seen;
    auto look = [&] {
        seen.push_back(number.get());
        number.set(99);  // stays inside the callback
        EXPECT_EQ(number.get(), 99);
    };
    number.set(1);
    loop.call_soon(look);
    loop.call_soon(look);  // a cell of its own each
    number.set(2);
    loop.call_later(1s, look);
    auto task = []() -> weir::task<> {
        number.set(77);
        co_await weir::sleep(2s);
    };
    weir::handle<> child = weir::spawn(task());
    number.set(3);
    child.add_done_callback([&](weir::handle<>) { look(); });
    number.set(4);
    co_await child;
    co_await weir::sleep(1s);
    EXPECT_EQ(seen, (std::vector{1, 1, 2, 3}));
    EXPECT_EQ(number.get(), 4);
}

WEIR_TEST(Semantics, TL_04) {
    number.set(1);
    weir::context shared = weir::context::copy_of_current();
    number.set(5);
    auto adds = [](int amount) -> weir::task<> {
        for (int round = 0; round < 10; ++round) {
            number.set(number.get() + amount);
            co_await weir::yield();
        }
    };
    weir::handle<> first = weir::spawn(adds(1), {.context = &shared});
    weir::handle<> second = weir::spawn(adds(100), {.context = &shared});
    co_await first;
    co_await second;
    auto reads = []() -> weir::task<int> { co_return number.get(); };
    const int total = co_await weir::spawn(reads(), {.context = &shared});
    EXPECT_EQ(total, 1 + 10 + 1000);
    EXPECT_EQ(number.get(), 5);
    auto sets = []() -> weir::task<> {
        EXPECT_EQ(number.get(), 5);
        number.set(6);
        co_return;
    };
    weir::handle<> eager = weir::spawn(sets(), {.start = weir::start::eager});
    EXPECT_TRUE(eager.done());
    EXPECT_EQ(number.get(), 5) << "an eager first step leaked";
}

}  // namespace
