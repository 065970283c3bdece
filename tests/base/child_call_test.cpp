// SPDX-License-Identifier: MIT
#include <weir/base/child_call.hpp>
#include <weir/testing/testing.hpp>

#include <memory>

namespace {

using namespace std::chrono_literals;
using weir::task;
namespace detail = weir::detail;

// The smallest boundary: runs a task, and counts how it ends.
struct counts {
    int returned = 0;
    int stopped = 0;
    int suspended = 0;
};
class counted_call final : public detail::bounded<counted_call, detail::boundary> {
public:
    static constexpr const char* boundary_name = "counted";

    counted_call(task<int>&& work, counts& to)
        : bounded(detail::table_of<counted_call>), work_(std::move(work)), counts_(&to) {}

    void enter(detail::fiber& on) noexcept { work_.enter(*this, on); }
    void child_suspended() noexcept { ++counts_->suspended; }
    detail::next_step advance(detail::fiber& on) noexcept {
        ++counts_->returned;
        return detail::give_way(*this, on, work_);
    }
    detail::next_step stopped(detail::fiber& on, detail::walk& by) noexcept {
        ++counts_->stopped;
        work_.lost();
        if (by.error != nullptr) {
            work_.fail(std::move(by.error));
            return detail::return_to_parent(*this, on);
        }
        return detail::let_pass(*this, on);
    }
    int await_resume() { return work_.take(); }

private:
    detail::child_call<int> work_;
    counts* counts_;
};

task<int> value_after(weir::clock::duration delay) {
    if (delay > 0s) {
        co_await weir::sleep(delay);
    }
    co_return 7;
}

WEIR_TEST(ChildCall, GivesTheValueOfAChildThatDoesNotSuspend) {
    counts seen;
    const int got = co_await counted_call(value_after(0s), seen);
    EXPECT_EQ(got, 7);
    EXPECT_EQ(seen.returned, 1);
    EXPECT_EQ(seen.suspended, 0);
}

WEIR_TEST(ChildCall, GivesTheValueOfAChildThatWaits) {
    counts seen;
    const int got = co_await counted_call(value_after(1s), seen);
    EXPECT_EQ(got, 7);
    EXPECT_EQ(seen.returned, 1);
    EXPECT_EQ(seen.suspended, 1);
}

WEIR_TEST(ChildCall, ThrowsTheErrorOfTheChild) {
    counts seen;
    auto fail = []() -> task<int> {
        co_await weir::sleep(1s);
        throw std::runtime_error("failed");
    };
    WEIR_EXPECT_THROW(counted_call(fail(), seen), std::runtime_error);
    EXPECT_EQ(seen.returned, 1);
}

WEIR_TEST(ChildCall, IsToldOfAStopAndLetsItPass) {
    counts seen;
    auto work = [&]() -> task<> { (void)co_await counted_call(value_after(1h), seen); };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(seen.stopped, 1);
    EXPECT_EQ(seen.returned, 0);
}

WEIR_TEST(ChildCall, DestroysAChildThatWasNeverStarted) {
    counts seen;
    const auto counted = std::make_shared<int>(1);
    auto work = [](std::shared_ptr<int> held) -> task<int> { co_return *held; };
    {
        const counted_call unawaited(work(counted), seen);
        EXPECT_EQ(counted.use_count(), 2);
    }
    EXPECT_EQ(counted.use_count(), 1);
    co_return;
}

}  // namespace
