// SPDX-License-Identifier: MIT
#include <weir/executor.hpp>
#include <weir/testing/testing.hpp>

#include <memory>

namespace {

using namespace std::chrono_literals;

// Runs work after a while, or refuses it.
struct slow_executor final : weir::executor {
    weir::task<void> run(work what) override {
        if (refuses) {
            throw weir::refused({.reason = weir::refusal_reason::queue_full});
        }
        co_await weir::sleep(1s);
        what();
    }
    bool refuses = false;
};

WEIR_TEST(Executor, RunsWorkThatCannotBeCopied) {
    slow_executor own;
    weir::executor& used = own;
    int got = 0;
    weir::executor::work work = [&got, owned = std::make_unique<int>(5)] { got = *owned; };
    co_await used.run(std::move(work));
    EXPECT_EQ(got, 5);
}

WEIR_TEST(Executor, MayRefuse) {
    slow_executor own;
    own.refuses = true;
    weir::executor& used = own;
    bool ran = false;
    weir::executor::work work = [&] { ran = true; };
    WEIR_EXPECT_THROW(used.run(std::move(work)), weir::refused);
    EXPECT_FALSE(ran);
}

}  // namespace
