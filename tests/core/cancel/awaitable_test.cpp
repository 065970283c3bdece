// SPDX-License-Identifier: MIT
// The leaf protocol: the effect of a stop on operations of every kind.

#include "support.hpp"

#include <deque>

namespace {

using namespace cancel_tests;
using weir::task;

WEIR_TEST(Awaitable, ACancelThatTakesEffectAtOnceEndsTheWait) {
    plan waits;
    auto work = [&]() -> task<> { co_await planned(waits); };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(waits.started, 1);
    EXPECT_EQ(waits.cancelled, 1);
    EXPECT_EQ(waits.resumed, 0);
    EXPECT_EQ(waits.given_back, 0);
}

WEIR_TEST(Awaitable, TheFiberGoesOnOnlyAfterALateOperationHasLetGo) {
    lines log;
    plan waits{.lets_go = false};
    auto work = [&]() -> task<> {
        noted buffer(log, "buffer gone");
        co_await planned(waits);
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel();
    co_await weir::sleep(1s);
    started.cancel();  // a repeated request
    co_await weir::sleep(1h);
    EXPECT_TRUE(log.empty());
    EXPECT_FALSE(started.done());
    waits.complete();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(log, (lines{"buffer gone"}));
    EXPECT_EQ(waits.cancelled, 2);
    EXPECT_EQ(waits.resumed, 0);
    EXPECT_EQ(waits.given_back, 1) << "the late result is given back, not lost";
}

WEIR_TEST(Awaitable, AKeptResultIsDeliveredAndTheStopComesAtTheNextSuspension) {
    plan waits{.lets_go = false};
    int got = 0;
    bool beyond = false;
    auto work = [&]() -> task<> {
        got = co_await planned(waits);
        co_await weir::sleep(1s);
        beyond = true;
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel();
    co_await weir::sleep(1s);
    waits.complete_and_keep();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(got, 7);
    EXPECT_FALSE(beyond);
    EXPECT_EQ(waits.given_back, 0);
}

WEIR_TEST(Awaitable, ACompletedOperationWhoseFiberIsCancelledBeforeItRunsGivesBack) {
    plan waits;
    auto work = [&]() -> task<> { co_await planned(waits); };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    waits.complete();
    started.cancel();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(waits.cancelled, 0) << "it had completed";
    EXPECT_EQ(waits.resumed, 0);
    EXPECT_EQ(waits.given_back, 1);
}

// A minimal lock of the kind the library has: a grant that is not resumed is passed on.
class token {
public:
    class take final : public weir::operation {
    public:
        explicit take(token& of) noexcept : of_(of) {}
        ~take() {
            if (granted_) {
                of_.put();
            }
        }
        bool ready() noexcept override { return granted_ = std::exchange(of_.free_, false); }
        bool start() noexcept override {
            of_.waiting_.push_back(this);
            return true;
        }
        bool cancel() noexcept override {
            std::erase(of_.waiting_, this);
            return true;
        }
        void resume() noexcept { granted_ = false; }

    private:
        friend class token;
        void grant() noexcept {
            granted_ = true;
            complete();
        }
        token& of_;
        bool granted_ = false;
    };

    void put() {
        if (waiting_.empty()) {
            free_ = true;
            return;
        }
        take* const next = waiting_.front();
        waiting_.pop_front();
        next->grant();
    }
    bool is_free() const { return free_; }

private:
    std::deque<take*> waiting_;
    bool free_ = true;
};

WEIR_TEST(Awaitable, AGrantedWaiterThatIsCancelledPassesTheGrantOn) {
    token shared;
    lines log;
    co_await token::take(shared);
    auto worker = [&](std::string name) -> task<> {
        co_await token::take(shared);
        log.push_back(name);
        shared.put();
    };
    auto first = weir::spawn(worker, std::string("first"));
    co_await weir::sleep(1s);
    auto second = weir::spawn(worker, std::string("second"));
    co_await weir::sleep(1s);
    shared.put();  // granted to the first
    first.cancel();
    co_await first.wait();
    co_await second;
    EXPECT_TRUE(first.cancelled());
    EXPECT_EQ(log, (lines{"second"}));
    EXPECT_TRUE(shared.is_free());
}

WEIR_TEST(Awaitable, AGrantRacingATimeoutIsUsedOrPassedOn) {
    for (const bool grant_first : {false, true}) {
        token shared;
        co_await token::take(shared);
        int taken = 0;
        weir::cancel_scope scope;
        auto take = [&]() -> task<> {
            co_await token::take(shared);
            ++taken;
            shared.put();
        };
        auto work = [&]() -> task<> { (void)co_await scope.run(take()); };
        auto started = weir::spawn(work);
        co_await weir::sleep(1s);
        if (grant_first) {
            shared.put();
            scope.cancel();
        } else {
            scope.cancel();
            shared.put();
        }
        co_await started;
        EXPECT_TRUE(scope.caught());
        EXPECT_EQ(taken, 0);
        EXPECT_TRUE(shared.is_free());
    }
}

// With a request pending an operation does not start; if the request is taken back before it has
// taken effect, it does.
WEIR_TEST(Awaitable, StartsWhenThePendingRequestIsTakenBack) {
    plan waits;
    auto work = [&]() -> task<> {
        weir::current_task().cancel();
        co_await planned(waits);
    };
    auto started = weir::spawn(work(), {.start = weir::start::eager});
    EXPECT_EQ(waits.started, 0);
    EXPECT_EQ(started.uncancel(), 0u);
    co_await weir::testing::settle_all();
    EXPECT_FALSE(started.done());
    EXPECT_EQ(waits.started, 1);
    EXPECT_EQ(waits.resumed, 0);
    started.cancel();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(waits.cancelled, 1);
}

}  // namespace
