// SPDX-License-Identifier: MIT
//
// The workloads of suite flow on Weir, written as a user would. 'Ready' calls are functions that
// return a value, as in the peers' own benchmarks; with _task they are coroutines that return at
// once, whose own cost (see await_call of suite core) comes on top.
#include "../harness.hpp"

#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/keyed_limiter.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/pool.hpp>
#include <weir/flow/retry.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/weir.hpp>

#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using bench::options;
using bench::reading;
using bench::stopwatch;
using weir::task;
using time_point = weir::clock::time_point;

[[gnu::noinline]] std::uint64_t ready_call() {
    return 1;
}
[[gnu::noinline]] task<std::uint64_t> ready_task() {
    co_return 1;
}

// ---- decisions ----------------------------------------------------------------------------------

std::uint64_t decide(weir::decision::gcra& shared, std::uint64_t times) {
    std::uint64_t granted = 0;
    time_point now{};
    for (std::uint64_t i = 0; i < times; ++i) {
        now += 10ns;
        granted += shared.try_take(now, 1).granted ? 1 : 0;
    }
    return granted;
}

reading limiter(const options& o, int threads) {
    const std::uint64_t times = o.count(20'000'000);
    weir::decision::gcra shared({.rate = 50'000'000, .per = 1s, .burst = 1000});
    std::vector<std::uint64_t> granted(static_cast<std::size_t>(threads));
    std::vector<std::thread> others;
    const stopwatch watch;
    for (int i = 1; i < threads; ++i) {
        others.emplace_back(
            [&, i] { granted[static_cast<std::size_t>(i)] = decide(shared, times); });
    }
    granted[0] = decide(shared, times);
    for (std::thread& each : others) {
        each.join();
    }
    const reading r = watch.per_operation(times);
    bench::require(granted[0] > 0 && granted[0] < times, "limiter");
    return r;
}

using keyed = weir::keyed_limiter<std::uint64_t>;
constexpr std::uint64_t keys = 1'000'000;

// Scatters: the keys of clients do not come in order.
std::uint64_t key_of(std::uint64_t i) {
    return (i % keys) * 0x9e3779b97f4a7c15u;
}

reading keyed_decision(const options& o) {
    keyed limiter({.rate = 1, .burst = 5, .max_keys = 2 * keys});
    time_point now{1h};
    for (std::uint64_t i = 0; i < keys; ++i) {
        (void)limiter.try_acquire_at(now, key_of(i));
    }
    const std::uint64_t times = o.count(10'000'000);
    std::uint64_t granted = 0;
    std::uint64_t place = 1;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < times; ++i) {
        place = place * 6364136223846793005u + 1442695040888963407u;
        now += 100ns;
        granted += limiter.try_acquire_at(now, key_of(place >> 33)) ? 1 : 0;
    }
    const reading r = watch.per_operation(times);
    bench::require(granted > 0, "keyed");
    return r;
}

reading keyed_memory(const options&) {
    const double before = bench::resident_bytes();
    keyed limiter({.rate = 1e-6, .burst = 5, .max_keys = 2 * keys});
    const time_point now{1h};
    for (std::uint64_t i = 0; i < keys; ++i) {
        (void)limiter.try_acquire_at(now, key_of(i));
    }
    const double each = (bench::resident_bytes() - before) / static_cast<double>(keys);
    bench::require(limiter.stats().keys >= keys, "keyed_bytes");
    return {each - static_cast<double>(sizeof(std::uint64_t)), 1};
}

// ---- around a call ------------------------------------------------------------------------------

template <class Call>
task<reading> breaker_ready(std::uint64_t times, Call ready) {
    weir::circuit_breaker breaker({.name = "bench", .consecutive_failures = 5});
    std::uint64_t total = 0;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < times; ++i) {
        total += co_await breaker.run(ready);
    }
    const reading r = watch.per_operation(times);
    bench::require(total == times, "breaker_ready");
    co_return r;
}

task<reading> breaker_open(std::uint64_t times) {
    weir::circuit_breaker breaker({.name = "bench", .consecutive_failures = 5});
    breaker.isolate();
    std::uint64_t refused = 0;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < times; ++i) {
        const auto ended = co_await breaker.settle(ready_call);
        refused += ended.is_refused() ? 1 : 0;
    }
    const reading r = watch.per_operation(times);
    bench::require(refused == times, "breaker_open");
    co_return r;
}

template <class Call>
task<reading> retry_ready(std::uint64_t times, Call ready) {
    weir::retry_policy policy({.max_attempts = 5, .backoff = weir::exponential_backoff(100ms, 2s)});
    std::uint64_t total = 0;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < times; ++i) {
        total += co_await policy.run(ready);
    }
    const reading r = watch.per_operation(times);
    bench::require(total == times, "retry_ready");
    co_return r;
}

template <class Call>
task<reading> pipeline_5(std::uint64_t times, Call ready) {
    weir::pipeline api("bench", weir::total_timeout{10s}, weir::retry_options{.max_attempts = 3},
                       weir::token_bucket_options{.rate = 1e9, .burst = 1e6},
                       weir::circuit_breaker_options{.consecutive_failures = 5},
                       weir::attempt_timeout{2s});
    std::uint64_t total = 0;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < times; ++i) {
        total += co_await api.run(ready);
    }
    const reading r = watch.per_operation(times);
    bench::require(total == times, "pipeline_5");
    co_return r;
}

task<int> connect() {
    co_return 1;
}

task<reading> pool(std::uint64_t times) {
    weir::pool<int> connections({.name = "bench", .max = 4}, connect);
    std::uint64_t total = 0;
    {
        auto first = co_await connections.acquire();
    }
    const stopwatch watch;
    for (std::uint64_t i = 0; i < times; ++i) {
        auto lent = co_await connections.acquire();
        total += static_cast<std::uint64_t>(*lent);
    }
    const reading r = watch.per_operation(times);
    bench::require(total == times, "pool");
    co_await connections.close();
    co_return r;
}

}  // namespace

int main(int argc, char** argv) {
    return bench::main(
        argc, argv,
        {
            {"limiter_1t", [](const options& o) { return limiter(o, 1); }},
            {"limiter_2t", [](const options& o) { return limiter(o, 2); }},
            {"keyed_1m", keyed_decision},
            {"keyed_bytes", keyed_memory, "bytes", bench::kind::busy, 1},
            {"breaker_ready",
             [](const options& o) {
                 return weir::run(breaker_ready(o.count(20'000'000), ready_call));
             }},
            {"breaker_task",
             [](const options& o) {
                 return weir::run(breaker_ready(o.count(20'000'000), ready_task));
             }},
            {"breaker_open",
             [](const options& o) { return weir::run(breaker_open(o.count(20'000'000))); }},
            {"retry_ready",
             [](const options& o) {
                 return weir::run(retry_ready(o.count(10'000'000), ready_task));
             }},
            {"pipeline_5",
             [](const options& o) {
                 return weir::run(pipeline_5(o.count(5'000'000), ready_call));
             }},
            {"pipeline_5_task",
             [](const options& o) {
                 return weir::run(pipeline_5(o.count(5'000'000), ready_task));
             }},
            {"pool", [](const options& o) { return weir::run(pool(o.count(10'000'000))); }},
        },
        10);
}
