// SPDX-License-Identifier: MIT
// The assertions and expectations: each passes where it should, and fails where it should.

#include <weir/testing/testing.hpp>

namespace {

using namespace std::chrono_literals;

// How many failures the body has, and whether it reached its end.
struct verdict {
    std::size_t failures = 0;
    bool reached_end = false;
    std::string text;
};

template <class Body>
verdict judge(Body body) {
    verdict result;
    auto whole = [&]() -> weir::task<> { co_await body(result.reached_end); };
    const weir::testing::exploration found = weir::testing::replay(whole, 0);
    result.failures = found.messages.size();
    result.text = found.text();
    return result;
}

#define BODY(...)                           \
    [](bool& reached_end) -> weir::task<> { \
        __VA_ARGS__;                        \
        reached_end = true;                 \
        co_return;                          \
    }
#define EXPECT_PASSES(...)                                       \
    do {                                                         \
        const verdict got = judge(BODY(__VA_ARGS__));            \
        EXPECT_EQ(got.failures, 0u) << #__VA_ARGS__ << got.text; \
        EXPECT_TRUE(got.reached_end) << #__VA_ARGS__;            \
    } while (false)
#define EXPECT_LEAVES(...)                             \
    do {                                               \
        const verdict got = judge(BODY(__VA_ARGS__));  \
        EXPECT_EQ(got.failures, 1u) << #__VA_ARGS__;   \
        EXPECT_FALSE(got.reached_end) << #__VA_ARGS__; \
    } while (false)
#define EXPECT_FAILS(...)                             \
    do {                                              \
        const verdict got = judge(BODY(__VA_ARGS__)); \
        EXPECT_EQ(got.failures, 1u) << #__VA_ARGS__;  \
        EXPECT_TRUE(got.reached_end) << #__VA_ARGS__; \
    } while (false)

TEST(Assertions, Comparisons) {
    EXPECT_PASSES(WEIR_ASSERT_TRUE(true); WEIR_ASSERT_FALSE(false); WEIR_ASSERT_EQ(1, 1) << "text";
                  WEIR_ASSERT_NE(1, 2); WEIR_ASSERT_LT(1, 2); WEIR_ASSERT_LE(1, 1);
                  WEIR_ASSERT_GT(2, 1); WEIR_ASSERT_GE(2, 2));
    EXPECT_LEAVES(WEIR_ASSERT_TRUE(false));
    EXPECT_LEAVES(WEIR_ASSERT_FALSE(true));
    EXPECT_LEAVES(WEIR_ASSERT_EQ(1, 2));
    EXPECT_LEAVES(WEIR_ASSERT_NE(1, 1));
    EXPECT_LEAVES(WEIR_ASSERT_LT(1, 1));
    EXPECT_LEAVES(WEIR_ASSERT_LE(2, 1));
    EXPECT_LEAVES(WEIR_ASSERT_GT(1, 1));
    EXPECT_LEAVES(WEIR_ASSERT_GE(1, 2));
}

TEST(Assertions, Strings) {
    EXPECT_PASSES(WEIR_ASSERT_STREQ("a", "a"); WEIR_ASSERT_STRNE("a", "b");
                  WEIR_ASSERT_STRCASEEQ("a", "A"); WEIR_ASSERT_STRCASENE("a", "b"));
    EXPECT_LEAVES(WEIR_ASSERT_STREQ("a", "b"));
    EXPECT_LEAVES(WEIR_ASSERT_STRNE("a", "a"));
    EXPECT_LEAVES(WEIR_ASSERT_STRCASEEQ("a", "B"));
    EXPECT_LEAVES(WEIR_ASSERT_STRCASENE("a", "A"));
}

TEST(Assertions, Numbers) {
    EXPECT_PASSES(WEIR_ASSERT_FLOAT_EQ(0.1F + 0.2F, 0.3F); WEIR_ASSERT_DOUBLE_EQ(0.1 + 0.2, 0.3);
                  WEIR_ASSERT_NEAR(1.0, 1.05, 0.1));
    EXPECT_LEAVES(WEIR_ASSERT_FLOAT_EQ(0.1F, 0.2F));
    EXPECT_LEAVES(WEIR_ASSERT_DOUBLE_EQ(0.1, 0.2));
    EXPECT_LEAVES(WEIR_ASSERT_NEAR(1.0, 1.5, 0.1));
    EXPECT_LEAVES(WEIR_FAIL() << "so");
}

TEST(Assertions, NestInIfAndElse) {
    EXPECT_PASSES(if (reached_end) WEIR_ASSERT_TRUE(false); else WEIR_ASSERT_TRUE(true));
}

// ---- what an await leads to --------------------------------------------------------------------

weir::task<int> gives(int value) {
    co_await weir::yield();
    co_return value;
}
weir::task<int> throws_range_error() {
    co_await weir::yield();
    throw std::range_error("too far");
}
weir::task<> slow() {
    co_await weir::sleep(5s);
}
weir::task<> cancelled_child() {
    auto child = weir::spawn(slow());
    co_await weir::yield();
    child.cancel("enough");
    co_await child;
}
weir::task<> group_with_range_error() {
    auto body = [](weir::task_group& group) -> weir::task<> {
        group.spawn(throws_range_error());
        co_return;
    };
    co_await weir::with_group(body);
}

TEST(Expectations, Throw) {
    EXPECT_PASSES(WEIR_EXPECT_THROW(throws_range_error(), std::range_error);
                  WEIR_EXPECT_THROW(throws_range_error(), std::exception);
                  WEIR_ASSERT_THROW(throws_range_error(), std::range_error);
                  WEIR_EXPECT_THROW_WITH(throws_range_error(), std::range_error, "far");
                  WEIR_EXPECT_ANY_THROW(throws_range_error()); WEIR_EXPECT_NO_THROW(gives(1)));
    EXPECT_FAILS(WEIR_EXPECT_THROW(gives(1), std::range_error));
    EXPECT_FAILS(WEIR_EXPECT_THROW(throws_range_error(), std::logic_error));
    EXPECT_FAILS(WEIR_EXPECT_THROW_WITH(throws_range_error(), std::range_error, "near"));
    EXPECT_FAILS(WEIR_EXPECT_ANY_THROW(gives(1)));
    EXPECT_FAILS(WEIR_EXPECT_NO_THROW(throws_range_error()));
    EXPECT_LEAVES(WEIR_ASSERT_THROW(gives(1), std::range_error));
    EXPECT_LEAVES(WEIR_ASSERT_THROW_WITH(throws_range_error(), std::range_error, "near"));
    EXPECT_LEAVES(WEIR_ASSERT_ANY_THROW(gives(1)));
    EXPECT_LEAVES(WEIR_ASSERT_NO_THROW(throws_range_error()));
}

TEST(Expectations, MessagesNameWhatHappened) {
    const verdict got = judge(BODY(WEIR_EXPECT_THROW(throws_range_error(), std::logic_error)));
    EXPECT_NE(got.text.find("throws_range_error()"), std::string::npos) << got.text;
    EXPECT_NE(got.text.find("std::logic_error"), std::string::npos) << got.text;
    EXPECT_NE(got.text.find("too far"), std::string::npos) << got.text;
}

TEST(Expectations, Timeout) {
    EXPECT_PASSES(WEIR_EXPECT_TIMEOUT(weir::timeout(1s, slow())));
    EXPECT_FAILS(WEIR_EXPECT_TIMEOUT(weir::timeout(10s, slow())));
    EXPECT_LEAVES(WEIR_ASSERT_TIMEOUT(slow()));
}

TEST(Expectations, Cancellation) {
    EXPECT_PASSES(WEIR_EXPECT_CANCELLED(cancelled_child());
                  WEIR_EXPECT_THROW_WITH(cancelled_child(), weir::cancelled, "enough"));
    EXPECT_FAILS(WEIR_EXPECT_CANCELLED(slow()));
    EXPECT_FAILS(WEIR_EXPECT_THROW_WITH(cancelled_child(), weir::cancelled, "more"));
    EXPECT_LEAVES(WEIR_ASSERT_CANCELLED(throws_range_error()));
}

TEST(Expectations, ErrorGroup) {
    EXPECT_PASSES(WEIR_EXPECT_ERROR_GROUP(group_with_range_error(), std::range_error));
    EXPECT_FAILS(WEIR_EXPECT_ERROR_GROUP(group_with_range_error(), std::logic_error));
    EXPECT_FAILS(WEIR_EXPECT_ERROR_GROUP(throws_range_error(), std::range_error));
    EXPECT_LEAVES(WEIR_ASSERT_ERROR_GROUP(slow(), std::range_error));
}

// ---- the clock ---------------------------------------------------------------------------------

WEIR_TEST(Clock, SettleAllLetsEverythingRunAndTimeStand) {
    int steps = 0;
    auto worker = [&steps]() -> weir::task<> {
        for (int left = 10; left > 0; --left) {
            co_await weir::yield();
            ++steps;
        }
        co_await weir::sleep(1s);
        ++steps;
    };
    auto handle = weir::spawn(worker);
    const auto begin = weir::now();
    co_await weir::testing::settle_all();
    EXPECT_EQ(steps, 10);
    EXPECT_EQ(weir::now(), begin);
    co_await weir::testing::advance(999ms);
    EXPECT_EQ(steps, 10);
    co_await weir::testing::advance(1ms);
    EXPECT_EQ(steps, 11);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_TRUE(handle.done());
}

WEIR_TEST(Clock, SeveralMaySettle) {
    int settled = 0;
    auto settler = [&settled]() -> weir::task<> {
        co_await weir::testing::settle_all();
        ++settled;
    };
    auto stopped = weir::spawn(settler);
    auto first = weir::spawn(settler);
    auto second = weir::spawn(settler);
    co_await weir::yield();
    stopped.cancel();
    co_await stopped.wait();
    co_await first;
    co_await second;
    EXPECT_EQ(settled, 2);
}

// ---- fixtures ----------------------------------------------------------------------------------

int fixtures_alive = 0;
int torn_down = 0;

class TimedFixture {
protected:
    TimedFixture() : made_at(weir::now()) { ++fixtures_alive; }
    ~TimedFixture() { --fixtures_alive; }
    weir::task<> set_up() {
        co_await weir::sleep(1s);
        ready = true;
    }
    weir::task<> tear_down() {
        co_await weir::sleep(1s);
        ++torn_down;
    }

    weir::clock::time_point made_at;
    bool ready = false;
};

WEIR_TEST_F(TimedFixture, IsSetUpInSimulatedTime) {
    EXPECT_TRUE(ready);
    EXPECT_EQ(weir::now() - made_at, 1s);
    EXPECT_EQ(fixtures_alive, 1);
    ready = false;  // the next schedule has its own
    co_await weir::yield();
}

TEST(Fixture, IsTakenDownHoweverTheTestEnds) {
    EXPECT_EQ(fixtures_alive, 0);
    struct failing final : weir::testing::fixture_of<TimedFixture> {
        weir::task<void> weir_body() override {
            co_await weir::yield();
            throw std::runtime_error("early");
        }
    };
    struct leaving final : weir::testing::fixture_of<TimedFixture> {
        weir::task<void> weir_body() override {
            co_await weir::yield();
            WEIR_FAIL();
        }
    };
    torn_down = 0;
    EXPECT_TRUE(weir::testing::replay(&weir::testing::run_fixture<failing>, 0).failed);
    EXPECT_EQ(torn_down, 1);
    EXPECT_TRUE(weir::testing::replay(&weir::testing::run_fixture<leaving>, 0).failed);
    EXPECT_EQ(torn_down, 2);
    EXPECT_EQ(fixtures_alive, 0);
}

class OldFixture : public ::testing::Test {
protected:
    void SetUp() override { value = 7; }
    int value = 0;
};

WEIR_TEST_F(OldFixture, GoogleTestFixturesWorkToo) {
    co_await weir::sleep(1s);
    EXPECT_EQ(value, 7);
}

TEST(Skipping, LeavesWithoutAVerdict) {
    const verdict got = judge(BODY(WEIR_SKIP() << "as an example"));
    EXPECT_EQ(got.failures, 0u) << got.text;
    EXPECT_FALSE(got.reached_end);
}

}  // namespace
