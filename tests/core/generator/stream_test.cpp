// SPDX-License-Identifier: MIT
// The functions over streams: their results, closing of their sources, and invalid arguments.

#include <weir/stream.hpp>
#include <weir/testing/testing.hpp>

#include <limits>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

struct log_of_ends {
    int closed = 0;
    weir::generator<int> endless() {
        co_await weir::defer([this]() -> weir::task<> {
            co_await weir::sleep(1s);
            ++closed;
        });
        for (int each = 0;; ++each) {
            co_await weir::yield();
            co_yield each;
        }
    }
};

// A stream that is no generator and has nothing to close.
class countdown {
public:
    explicit countdown(int from) : left_(from) {}
    weir::task<std::optional<int>> next() {
        co_await weir::yield();
        co_return left_ > 0 ? std::optional(left_--) : std::nullopt;
    }

private:
    int left_;
};

WEIR_TEST(Stream, Ranges) {
    auto up = co_await weir::collect(weir::range(3));
    EXPECT_EQ(up, (std::vector{0, 1, 2}));
    auto between = co_await weir::collect(weir::range(1, 6, 2));
    EXPECT_EQ(between, (std::vector{1, 3, 5}));
    auto down = co_await weir::collect(weir::range(3, -3, -2));
    EXPECT_EQ(down, (std::vector{3, 1, -1}));
    auto none = co_await weir::collect(weir::range(5, 1));
    EXPECT_TRUE(none.empty());
    constexpr int most = std::numeric_limits<int>::max();
    auto edge = co_await weir::collect(weir::range(most - 3, most, 2));
    EXPECT_EQ(edge, (std::vector{most - 3, most - 1}));
    EXPECT_THROW((void)weir::range(0, 1, 0), weir::invalid_argument);
}

WEIR_TEST(Stream, FromARange) {
    const std::vector<std::string> kept{"a", "b"};
    auto copied = co_await weir::collect(weir::from(kept));
    EXPECT_EQ(copied, kept);
    std::vector<std::unique_ptr<int>> boxes;
    boxes.push_back(std::make_unique<int>(7));
    auto moved = co_await weir::collect(weir::from(std::move(boxes)));
    WEIR_ASSERT_EQ(moved.size(), 1u);
    EXPECT_EQ(*moved[0], 7);
}

WEIR_TEST(Stream, MapFilterTakeEnumerateChunk) {
    log_of_ends ends;
    auto odd = [](int value) { return value % 2 == 1; };
    auto square = [](int value) -> weir::task<int> {
        co_await weir::sleep(1ms);
        co_return value* value;
    };
    auto squares = weir::take(weir::map(weir::filter(ends.endless(), odd), square), 4);
    auto all = co_await weir::collect(weir::chunk(std::move(squares), 3));
    WEIR_ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0], (std::vector{1, 9, 25}));
    EXPECT_EQ(all[1], (std::vector{49}));
    EXPECT_EQ(ends.closed, 1);  // closed through three others, and awaited

    const std::vector<std::string> letters{"x", "y"};
    auto numbered = co_await weir::collect(weir::enumerate(weir::from(letters), 1));
    EXPECT_EQ(numbered, (std::vector<std::pair<std::size_t, std::string>>{{1, "x"}, {2, "y"}}));
    EXPECT_THROW((void)weir::chunk(weir::range(3), 0), weir::invalid_argument);
}

WEIR_TEST(Stream, OwnTypesAreStreams) {
    auto all =
        co_await weir::collect(weir::map(countdown(3), [](int value) { return value * 10; }));
    EXPECT_EQ(all, (std::vector{30, 20, 10}));
    int total = 0;
    co_await weir::for_each(countdown(4), [&](int value) { total += value; });
    EXPECT_EQ(total, 10);
}

WEIR_TEST(Stream, AFunctionThatThrowsClosesTheSource) {
    log_of_ends ends;
    auto fails = [](int value) -> weir::task<> {
        co_await weir::yield();
        if (value == 2) {
            throw std::runtime_error("enough");
        }
    };
    WEIR_EXPECT_THROW(weir::for_each(ends.endless(), fails), std::runtime_error);
    EXPECT_EQ(ends.closed, 1);
}

WEIR_TEST(Stream, AStoppedConsumerClosesTheSource) {
    log_of_ends ends;
    auto consumer = weir::spawn([&]() -> weir::task<> {
        co_await weir::for_each(ends.endless(),
                                [](int) -> weir::task<> { co_await weir::sleep(1s); });
    });
    co_await weir::sleep(1500ms);
    consumer.cancel();
    co_await consumer.wait();
    EXPECT_EQ(ends.closed, 1);

    bool started = false;
    auto waiting = weir::spawn([&]() -> weir::task<> {
        auto never = [&](int) {
            started = true;
            return false;
        };
        co_await weir::for_each(weir::filter(ends.endless(), never), [](int) {});
    });
    while (!started) {  // simulated time stands still while tasks are ready
        co_await weir::yield();
    }
    waiting.cancel();
    co_await waiting.wait();
    EXPECT_EQ(ends.closed, 2);
}

WEIR_TEST(Stream, TakeAsksForNoMoreThanItGives) {
    int asked = 0;
    auto counted = [&]() -> weir::generator<int> {
        for (;;) {
            co_yield ++asked;
        }
    };
    auto two = co_await weir::collect(weir::take(counted(), 2));
    EXPECT_EQ(two, (std::vector{1, 2}));
    EXPECT_EQ(asked, 2);
}

WEIR_TEST(Stream, WhatReferencesReferToStaysAsItIs) {
    std::vector<std::string> names{"a name that is too long to be in place", "b"};
    const std::vector<std::string> before = names;
    auto each = [&]() -> weir::generator<std::string&> {
        for (std::string& name : names) {
            co_yield name;
        }
    };
    auto each_const = [&]() -> weir::generator<const std::string&> {
        for (const std::string& name : names) {
            co_yield name;
        }
    };
    auto all = [](const std::string&) { return true; };
    auto copy = [](std::string name) { return name; };
    const auto collected = co_await weir::collect(each());
    const auto filtered = co_await weir::collect(weir::filter(each(), all));
    const auto filtered_const = co_await weir::collect(weir::filter(each_const(), all));
    const auto taken = co_await weir::collect(weir::take(each_const(), 5));
    const auto mapped = co_await weir::collect(weir::map(each(), copy));
    const auto chunks = co_await weir::collect(weir::chunk(each(), 2));
    co_await weir::for_each(each(), [](std::string name) { EXPECT_FALSE(name.empty()); });
    for (const auto& got : {collected, filtered, filtered_const, taken, mapped, chunks.at(0)}) {
        EXPECT_EQ(got, before);
    }
    EXPECT_EQ(names, before);
}

WEIR_TEST(Stream, MapTakesMembersAndFunctionsThatGiveReferences) {
    struct user {
        std::string name;
    };
    auto users = []() -> weir::generator<user> {
        user one{"one"};
        co_yield one;
    };
    auto name_of = [](const user& of) -> const std::string& { return of.name; };
    const auto by_member = co_await weir::collect(weir::map(users(), &user::name));
    const auto by_function = co_await weir::collect(weir::map(users(), name_of));
    EXPECT_EQ(by_member, (std::vector<std::string>{"one"}));
    EXPECT_EQ(by_function, (std::vector<std::string>{"one"}));
}

WEIR_TEST(Stream, RangesWiderThanTheirType) {
    constexpr int least = std::numeric_limits<int>::min();
    constexpr int most = std::numeric_limits<int>::max();
    const auto up =
        co_await weir::collect(weir::range(-2'000'000'000, 2'000'000'000, 1'500'000'000));
    EXPECT_EQ(up, (std::vector{-2'000'000'000, -500'000'000, 1'000'000'000}));
    const auto down = co_await weir::collect(weir::range(most, least, least));
    EXPECT_EQ(down, (std::vector{most, -1}));
}

}  // namespace
