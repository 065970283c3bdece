// SPDX-License-Identifier: MIT
#include <weir/base/wait_list.hpp>
#include <weir/base/wait_request.hpp>
#include <weir/testing/testing.hpp>

#include <optional>
#include <utility>

namespace {

using namespace std::chrono_literals;
using weir::detail::wait_state;

// A door that is open, or lets those who wait through one by one.
struct door {
    weir::detail::wait_list waiters;
    bool is_open = false;
    int made = 0;  // operations, and
    int gone = 0;
};

class passage final : public weir::detail::listed_operation {
public:
    using primitive = door;

    explicit passage(door& wanted) noexcept
        : listed_operation(weir::detail::set_later()), door_(&wanted) {
        ++door_->made;
    }
    ~passage() {
        ++door_->gone;
        if (state_ == wait_state::granted) {
            door_->waiters.remove_granted(*this);
        }
    }

    bool ready() noexcept override { return take(*door_); }
    bool start() noexcept override { return door_->waiters.enter(*this); }
    bool cancel() noexcept override {
        door_->waiters.remove(*this);
        state_ = wait_state::idle;
        return true;
    }

    static bool take(door& wanted) noexcept { return wanted.is_open; }
    static int result(door&) noexcept { return 7; }
    door& from() const noexcept { return *door_; }
    void finish() {
        const wait_state ended = std::exchange(state_, wait_state::idle);
        if (ended == wait_state::granted) {
            door_->waiters.remove_granted(*this);
        } else if (ended != wait_state::idle) {
            throw weir::invalid_state("no door");
        }
    }

private:
    door* door_;
};

using passage_request = weir::detail::wait_request<passage>;

weir::task<> pass(door& wanted, int& sum) {
    sum += co_await passage_request(wanted);
}

WEIR_TEST(WaitRequest, MakesNoOperationIfItNeedNotWait) {
    door wanted;
    wanted.is_open = true;
    EXPECT_EQ(co_await passage_request(wanted), 7);
    EXPECT_EQ(wanted.made, 0);
}

WEIR_TEST(WaitRequest, WaitsInAnOperationOfItsOwn) {
    door wanted;
    int sum = 0;
    auto a = weir::spawn(pass(wanted, sum));
    auto b = weir::spawn(pass(wanted, sum));
    co_await weir::testing::settle_all();
    EXPECT_EQ(wanted.made, 2);
    wanted.waiters.grant_first();
    wanted.waiters.grant_first();
    co_await a;
    co_await b;
    EXPECT_EQ(sum, 14);
    EXPECT_TRUE(wanted.waiters.is_empty());
}

WEIR_TEST(WaitRequest, MayBeAwaitedAgain) {
    door wanted;
    wanted.is_open = true;
    passage_request kept(wanted);
    const int first = co_await kept;
    const int second = co_await kept;
    EXPECT_EQ(first + second, 14);
}

WEIR_TEST(WaitRequest, IsAnArgumentOfCombinators) {
    door wanted;
    bool is_late = false;
    try {
        co_await weir::timeout(1ms, passage_request(wanted));
    } catch (const weir::timed_out&) {
        is_late = true;
    }
    EXPECT_TRUE(is_late);
    EXPECT_TRUE(wanted.waiters.is_empty());
    EXPECT_EQ(wanted.made, wanted.gone);
}

WEIR_TEST(WaitRequest, DestroysTheOperationOfAStoppedTask) {
    door wanted;
    int sum = 0;
    auto waiting = weir::spawn(pass(wanted, sum));
    auto granted = weir::spawn(pass(wanted, sum));
    co_await weir::testing::settle_all();
    waiting.cancel();
    co_await waiting.wait();
    EXPECT_EQ(wanted.gone, 1);
    wanted.waiters.grant_first();
    granted.cancel();
    co_await granted.wait();
    EXPECT_EQ(wanted.gone, 2);
    EXPECT_TRUE(wanted.waiters.is_empty());
    EXPECT_EQ(sum, 0);
}

// A stop is due already: the operation exists, and has never been started.
WEIR_TEST(WaitRequest, StopsBeforeItWaits) {
    door wanted;
    int sum = 0;
    auto stopped = weir::spawn(pass(wanted, sum));
    stopped.cancel();
    co_await stopped.wait();
    weir::cancel_scope scope;
    scope.cancel();
    auto work = [&]() -> weir::task<> { co_await pass(wanted, sum); };
    co_await scope.run(work);
    EXPECT_TRUE(wanted.waiters.is_empty());
    EXPECT_EQ(wanted.made, wanted.gone);
    EXPECT_EQ(sum, 0);
}

WEIR_TEST(WaitRequest, ThrowsWhenThePrimitiveIsGone) {
    std::optional<door> wanted(std::in_place);
    bool has_thrown = false;
    auto attempt = [&]() -> weir::task<> {
        try {
            co_await passage_request(*wanted);
        } catch (const weir::invalid_state&) {
            has_thrown = true;
        }
    };
    auto waiting = weir::spawn(attempt());
    co_await weir::testing::settle_all();
    wanted->waiters.orphan();
    co_await waiting;
    EXPECT_TRUE(has_thrown);
}

}  // namespace
