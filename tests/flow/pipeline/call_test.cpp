// SPDX-License-Identifier: MIT
// The user's callable: its arguments, its results, and its outcome as a value.

#include <weir/flow/call.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;
using weir::call_context;
using weir::outcome;
using weir::task;
using weir::detail::settle_call;

task<int> answer() {
    co_await weir::sleep(1s);
    co_return 42;
}
task<int> broken() {
    throw std::runtime_error("broken");
    co_return 0;
}

WEIR_TEST(Call, TakesNothingTheAttemptOrTheContext) {
    call_context call("name");
    call.next_attempt();
    auto none = [] { return 1; };
    auto attempt = [](int number) { return number; };
    auto context = [](call_context& own) { return std::string(own.name()); };
    const outcome<int> first = co_await settle_call(none, call);
    const outcome<int> second = co_await settle_call(attempt, call);
    const outcome<std::string> third = co_await settle_call(context, call);
    EXPECT_EQ(first.value(), 1);
    EXPECT_EQ(second.value(), 2);
    EXPECT_EQ(third.value(), "name");
}

WEIR_TEST(Call, SettlesTasksAwaitablesAndValues) {
    call_context call;
    auto lazily = [] { return answer(); };
    auto spawned = [] { return weir::spawn(answer()); };
    auto nothing = [] {};
    const outcome<int> from_task = co_await settle_call(lazily, call);
    const outcome<int> from_handle = co_await settle_call(spawned, call);
    const outcome<> from_nothing = co_await settle_call(nothing, call);
    EXPECT_EQ(from_task.value(), 42);
    EXPECT_EQ(from_handle.value(), 42);
    EXPECT_TRUE(from_nothing.has_value());
}

WEIR_TEST(Call, ErrorsAreOutcomes) {
    call_context call;
    auto in_task = [] { return broken(); };
    auto before_the_task = []() -> task<int> {
        return (throw std::runtime_error("early"), answer());
    };
    auto plain = []() -> int { throw std::runtime_error("plain"); };
    const outcome<int> first = co_await settle_call(in_task, call);
    const outcome<int> second = co_await settle_call(before_the_task, call);
    const outcome<int> third = co_await settle_call(plain, call);
    EXPECT_TRUE(first.has_error());
    EXPECT_TRUE(second.has_error());
    EXPECT_TRUE(third.has_error());
}

WEIR_TEST(Call, ASuspendedCallMakesTheTimeOfTheContextStale) {
    call_context call;
    const auto begun = call.now();
    auto lazily = [] { return answer(); };
    const outcome<int> ended = co_await settle_call(lazily, call);
    EXPECT_EQ(ended.value(), 42);
    EXPECT_EQ(call.now(), begun + 1s);
}

}  // namespace
