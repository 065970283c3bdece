// SPDX-License-Identifier: MIT
// The choice of a loop's driver, and the contract of the core's own drivers.

#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

// Restores the variable when the test ends.
class environment {
public:
    explicit environment(const char* value) {
        if (const char* former = std::getenv("WEIR_DRIVER")) {
            former_ = former;
        }
        ::setenv("WEIR_DRIVER", value, 1);
    }
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;
    ~environment() { ::setenv("WEIR_DRIVER", former_.c_str(), 1); }

private:
    std::string former_;
};

TEST(Driver, TheOptionsOfTheLoopChoose) {
    weir::loop simulated({.driver = weir::driver_kind::simulated});
    EXPECT_TRUE(simulated.get_driver().is_simulated());
    const environment uring("uring");
    weir::loop epoll({.driver = weir::driver_kind::epoll});
    EXPECT_STREQ(epoll.get_driver().name(), "epoll");
}

TEST(Driver, TheDefaultIsTheOneThatTheEnvironmentNames) {
    const environment epoll("epoll");
    EXPECT_STREQ(weir::make_default_driver()->name(), "epoll");
    weir::loop automatic;
    EXPECT_STREQ(automatic.get_driver().name(), "epoll");
}

TEST(Driver, TheDefaultNeedsNoEnvironment) {
    const environment none("");
    EXPECT_NE(weir::make_default_driver(), nullptr);
}

TEST(Driver, AnUnknownNameIsAnError) {
    const environment unknown("kqueue");
    try {
        weir::make_default_driver();
        FAIL() << "made a driver";
    } catch (const weir::loop_error& error) {
        EXPECT_STREQ(error.what(), "WEIR_DRIVER is 'kqueue'; it can be epoll or uring");
    }
}

TEST(Driver, ALoopMayBeGivenOne) {
    weir::loop own(weir::make_simulated_driver());
    EXPECT_TRUE(own.get_driver().is_simulated());
    EXPECT_THROW(weir::loop(std::unique_ptr<weir::driver>()), weir::invalid_argument);
}

TEST(Driver, SimulatedTimeJumpsToTheDeadline) {
    const std::unique_ptr<weir::driver> simulated = weir::make_simulated_driver();
    const std::int64_t begin = simulated->now();
    simulated->wait(begin + 1'000'000'000);
    EXPECT_EQ(simulated->now(), begin + 1'000'000'000);
    EXPECT_FALSE(simulated->has_sources());
    EXPECT_FALSE(simulated->wakes_from_signals());
}

// Simulated time does not jump over what another thread has sent.
TEST(Driver, AWakeKeepsSimulatedTimeFromJumping) {
    const std::unique_ptr<weir::driver> simulated = weir::make_simulated_driver();
    simulated->wake();
    simulated->wait(1000);
    EXPECT_EQ(simulated->now(), 0);
    simulated->wait(1000);
    EXPECT_EQ(simulated->now(), 1000) << "a wake-up is used up by one wait";
    simulated->wait(0);
    simulated->wait(500);
    simulated->wait(1000);
    EXPECT_EQ(simulated->now(), 1000) << "the clock never goes back";
    simulated->wake();
    simulated->wait(weir::driver::forever);
    EXPECT_EQ(simulated->now(), 1000);
    EXPECT_EQ(simulated->fd(), -1);
    EXPECT_FALSE(simulated->has_unsubmitted());
}

// A post that comes before the run must not be lost, nor stop the clock for good.
TEST(Driver, APostBeforeASimulatedRun) {
    weir::loop own({.driver = weir::driver_kind::simulated});
    int ran = 0;
    own.post([&] { ++ran; });
    own.run_until([](weir::loop& home) -> weir::task<> {
        co_await weir::sleep(1h);
        EXPECT_EQ(home.now().time_since_epoch(), 1h);
    }(own));
    EXPECT_EQ(ran, 1);
    own.post([&] { ++ran; });
    own.run_until([]() -> weir::task<> { co_await weir::sleep(1s); }());
    EXPECT_EQ(ran, 2);
}

TEST(Driver, EpollIsWokenFromAnotherThread) {
    const std::unique_ptr<weir::driver> epoll = weir::make_epoll_driver();
    std::thread waker([&] { epoll->wake(); });
    epoll->wait(weir::driver::forever);  // returns, or the test hangs
    waker.join();
    EXPECT_GE(epoll->fd(), 0);
    EXPECT_TRUE(epoll->wakes_from_signals());
}

}  // namespace
