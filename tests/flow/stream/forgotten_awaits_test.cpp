// SPDX-License-Identifier: MIT
// A call of flow whose co_await was forgotten: debug mode names the public function and the task
// that called it.

#include "support.hpp"

#include <weir/flow/batch.hpp>
#include <weir/flow/bulkhead.hpp>
#include <weir/flow/consume.hpp>
#include <weir/flow/fallback.hpp>
#include <weir/flow/hedge.hpp>
#include <weir/flow/retry.hpp>
#include <weir/weir.hpp>

namespace {

using namespace stream_tests;

task<int> work(int number) {
    co_await weir::sleep(1ms);
    co_return number;
}

template <class T>
void forget(T&&) {}  // what [[nodiscard]] would have warned about

template <class Forget>
void expect_report(Forget forgets, const std::string& part) {
    std::vector<std::string> said;
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.debug = true;
    options.on_report = [&](const weir::report& about) {
        EXPECT_EQ(about.kind, weir::report_kind::never_awaited);
        said.push_back(about.message);
    };
    auto main = [&]() -> task<> {
        forgets();
        co_return;
    };
    weir::run(main(), std::move(options));
    ASSERT_FALSE(said.empty()) << part;
    EXPECT_TRUE(said[0].starts_with(part)) << said[0];
}

TEST(ForgottenAwaits, AreReportedByThePublicNames) {
    auto make = [] { return work(1); };
    const std::vector<int> items{1, 2};
    weir::bulkhead bulkhead({.max_concurrent = 1});
    expect_report([&] { forget(weir::hedge({}, make)); }, "weir::hedge was called by");
    expect_report([&] { forget(weir::retry({}, make)); }, "weir::retry was called by");
    expect_report([&] { forget(weir::fallback(work(1), 2)); }, "weir::fallback was called by");
    expect_report([&] { forget(weir::batch(items, {}, work)); }, "weir::batch was called by");
    expect_report([&] { forget(weir::consume(items, {}, work)); }, "weir::consume was called by");
    expect_report([&] { forget(bulkhead.run(make)); }, "run() of a policy was called by");
}

}  // namespace
