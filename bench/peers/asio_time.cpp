// SPDX-License-Identifier: MIT
//
// The workloads of suite core that sleep, time out or cancel, on Boost.Asio.
#include "asio_peer.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>

namespace peer {
namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

awaitable<void> sleeper(std::chrono::steady_clock::duration delay, std::uint64_t& done) {
    steady_timer timer(co_await asio::this_coro::executor, delay);
    co_await timer.async_wait(use_awaitable);
    ++done;
}

awaitable<void> yield_once() {
    co_await yield();
}

awaitable<void> guarded(std::uint64_t times, std::uint64_t& total) {
    steady_timer timer(co_await asio::this_coro::executor);
    for (std::uint64_t i = 0; i < times; ++i) {
        timer.expires_after(1s);
        const auto result = co_await (yield_once() || timer.async_wait(use_awaitable));
        total += result.index() == 0 ? 1 : 0;
    }
}

struct phases {
    reading cancel_only;
    reading with_spawn;
};

// All tasks sleep before the first is cancelled. The loop is driven from outside, which spares Asio
// a joining coroutine.
phases cancelled(std::uint64_t tasks) {
    loop context;
    const auto signals = std::make_unique<asio::cancellation_signal[]>(tasks);
    std::uint64_t woken = 0;
    std::uint64_t ended = 0;
    const stopwatch whole;
    for (std::uint64_t i = 0; i < tasks; ++i) {
        asio::co_spawn(
            context, sleeper(1h, woken),
            asio::bind_cancellation_slot(
                signals[i].slot(), [&ended](std::exception_ptr error) { ended += error ? 1 : 0; }));
    }
    context.poll();
    const stopwatch second;
    for (std::uint64_t i = 0; i < tasks; ++i)
        signals[i].emit(asio::cancellation_type::terminal);
    context.run();
    const phases result{second.per_operation(tasks), whole.per_operation(tasks)};
    bench::require(ended == tasks && woken == 0, "cancel");
    return result;
}

}  // namespace

reading timers(const options&) {
    constexpr std::uint64_t tasks = 200'000;  // also in a quick run: the cost depends on the number
    loop context;
    std::uint64_t done = 0;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < tasks; ++i) {
        context.start(sleeper(std::chrono::microseconds(i * 7919 % 500'000), done));
    }
    context.run();
    const reading r = watch.cpu_per_operation(tasks);
    bench::require(done == tasks, "timers");
    return r;
}

reading timeout(const options& o) {
    const std::uint64_t times = o.count(2'000'000);
    std::uint64_t total = 0;
    loop context;
    const stopwatch watch;
    context.start(guarded(times, total));
    context.run();
    const reading r = watch.per_operation(times);
    bench::require(total == times, "timeout");
    return r;
}

reading cancel(const options& o) {
    return cancelled(o.count(100'000)).cancel_only;
}
reading spawn_cancel(const options& o) {
    return cancelled(o.count(100'000)).with_spawn;
}

reading memory(const options& o) {
    const std::uint64_t tasks = o.count(1'000'000);
    auto* context = new loop;  // left alive: the process ends with the measurement
    static std::uint64_t done = 0;
    context->poll();
    context->restart();
    const double before = bench::resident_bytes();
    for (std::uint64_t i = 0; i < tasks; ++i)
        context->start(sleeper(1h, done));
    context->poll();
    return {(bench::resident_bytes() - before) / static_cast<double>(tasks), 1};
}

}  // namespace peer
