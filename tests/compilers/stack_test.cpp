// SPDX-License-Identifier: MIT
// Depth and number of awaits cost no machine stack: everything here runs on a thread that has
// little.

#include <weir/testing/testing.hpp>

#include <pthread.h>

namespace {

using namespace std::chrono_literals;
using weir::task;

constexpr std::size_t little_stack = 256 * 1024;
constexpr int many_awaits = 1'000'000;
constexpr int deep = 100'000;

// Runs the function on a thread with little stack.
void with_little_stack(const std::function<void()>& function) {
    pthread_attr_t attributes;
    ASSERT_EQ(::pthread_attr_init(&attributes), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&attributes, little_stack), 0);
    pthread_t thread{};
    const int failed = ::pthread_create(
        &thread, &attributes,
        [](void* given) -> void* {
            (*static_cast<const std::function<void()>*>(given))();
            return nullptr;
        },
        const_cast<std::function<void()>*>(&function));
    ASSERT_EQ(failed, 0);
    ::pthread_join(thread, nullptr);
    ::pthread_attr_destroy(&attributes);
}

template <class T>
T run_simulated(task<T> work) {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    return weir::run(std::move(work), std::move(options));
}

task<int> one() {
    co_return 1;
}

task<int> await_many() {
    int sum = 0;
    for (int left = many_awaits; left > 0; --left) {
        sum += co_await one();
    }
    co_return sum;
}

TEST(Stack, SuccessiveAwaits) {
    with_little_stack([] { EXPECT_EQ(run_simulated(await_many()), many_awaits); });
}

task<int> await_ended_handle() {
    const auto ended = weir::spawn(one);
    co_await ended.wait();
    int sum = 0;
    for (int left = many_awaits; left > 0; --left) {
        sum += co_await ended;
    }
    co_return sum;
}

TEST(Stack, SuccessiveReadyOperations) {
    with_little_stack([] { EXPECT_EQ(run_simulated(await_ended_handle()), many_awaits); });
}

task<int> await_boundaries() {
    int sum = 0;
    for (int left = many_awaits / 10; left > 0; --left) {
        sum += co_await weir::shield(one());
        const auto settled = co_await weir::settle(one());
        sum += settled.value();
        sum += co_await weir::timeout(1s, one());
    }
    co_return sum;
}

TEST(Stack, SuccessiveBoundaries) {
    with_little_stack([] { EXPECT_EQ(run_simulated(await_boundaries()), many_awaits / 10 * 3); });
}

int alive = 0;
struct counted {
    counted() { ++alive; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --alive; }
};

enum class end { value, sleep, error };

task<int> nest(int depth, end how) {
    const counted here;
    if (depth == 0) {
        if (how == end::sleep) {
            co_await weir::sleep_forever();
        }
        if (how == end::error) {
            throw std::runtime_error("from below");
        }
        co_return 0;
    }
    const int below = co_await nest(depth - 1, how);
    co_return below + 1;
}

TEST(Stack, NestedCoroutinesReturn) {
    with_little_stack([] { EXPECT_EQ(run_simulated(nest(deep, end::value)), deep); });
    EXPECT_EQ(alive, 0);
}

TEST(Stack, NestedCoroutinesThrow) {
    with_little_stack(
        [] { EXPECT_THROW(run_simulated(nest(deep, end::error)), std::runtime_error); });
    EXPECT_EQ(alive, 0);
}

task<> cancel_nested() {
    const auto nested = weir::spawn(nest, deep, end::sleep);
    co_await weir::testing::settle_all();
    EXPECT_EQ(alive, deep + 1);
    nested.cancel();
    co_await nested.wait();
    EXPECT_TRUE(nested.cancelled());
    EXPECT_EQ(alive, 0);
}

TEST(Stack, NestedCoroutinesStop) {
    with_little_stack([] { run_simulated(cancel_nested()); });
}

task<> timeout_nested() {
    const int result = co_await weir::timeout_or(1s, nest(deep, end::sleep), -1);
    EXPECT_EQ(result, -1);
    EXPECT_EQ(alive, 0);
}

TEST(Stack, NestedCoroutinesTimeOut) {
    with_little_stack([] { run_simulated(timeout_nested()); });
}

// Boundaries between the coroutines.
task<int> nest_settled(int depth) {
    if (depth == 0) {
        co_await weir::sleep_forever();
        co_return 0;
    }
    const auto below = co_await weir::settle(nest_settled(depth - 1));
    co_return below.value() + 1;
}

task<> cancel_settled() {
    const auto nested = weir::spawn(nest_settled, deep);
    co_await weir::testing::settle_all();
    nested.cancel();
    co_await nested.wait();
    EXPECT_TRUE(nested.cancelled());
}

TEST(Stack, NestedBoundariesStop) {
    with_little_stack([] { run_simulated(cancel_settled()); });
}

// A chain of tasks, each awaiting the handle of the one before.
task<> link(weir::handle<> before) {
    co_await before;
}
task<> last_link() {
    co_await weir::sleep_forever();
}

task<> cancel_chain() {
    weir::handle<> newest = weir::spawn(last_link);
    const weir::handle<> oldest = newest;
    for (int left = deep; left > 0; --left) {
        newest = weir::spawn(link, newest);
    }
    co_await weir::testing::settle_all();
    newest.cancel();
    co_await newest.wait();
    EXPECT_TRUE(newest.cancelled());
    EXPECT_TRUE(oldest.cancelled());
}

TEST(Stack, ChainsOfHandlesStop) {
    with_little_stack([] { run_simulated(cancel_chain()); });
}

// Each task starts the next at once.
task<> eager_chain(int left, int& reached) {
    ++reached;
    if (left > 0) {
        const auto next =
            weir::spawn(eager_chain(left - 1, reached), {.start = weir::start::eager});
        co_await next;
    }
}

TEST(Stack, EagerStartsNest) {
    int reached = 0;
    with_little_stack([&] { run_simulated(eager_chain(deep, reached)); });
    EXPECT_EQ(reached, deep + 1);
}

}  // namespace
