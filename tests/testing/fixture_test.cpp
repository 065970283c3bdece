// SPDX-License-Identifier: MIT
// Fixtures: set up in simulated time, one object per schedule, taken down however the test ends.

#include <weir/testing/testing.hpp>

#include <stdexcept>

namespace {

using namespace std::chrono_literals;

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

}  // namespace
