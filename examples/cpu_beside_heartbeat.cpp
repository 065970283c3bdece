// SPDX-License-Identifier: MIT
// CPU work in a thread pool beside a heartbeat: the loop stays responsive while all cores compute.

#include <weir/io/thread_pool.hpp>
#include <weir/weir.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

using namespace std::chrono_literals;

// How many primes there are below the limit, the slow way.
int count_primes(int limit) {
    int count = 0;
    for (int number = 2; number < limit; ++number) {
        bool is_prime = true;
        for (int divisor = 2; divisor * divisor <= number && is_prime; ++divisor) {
            is_prime = number % divisor != 0;
        }
        count += is_prime ? 1 : 0;
    }
    return count;
}

// Beats until it is stopped.
weir::task<> heartbeat(int& beats) {
    for (;;) {
        ++beats;
        co_await weir::sleep(1ms);
    }
}

weir::task<> compute() {
    weir::thread_pool pool({.name = "primes"});

    // One call: the result comes back to this task, on this loop.
    const int primes = co_await pool.run(count_primes, 100'000);
    std::printf("primes below 100000: %d\n", primes);

    // Many: on all threads of the pool, results in the order of the inputs.
    const std::vector<int> limits{10, 100, 1'000, 10'000};
    const std::vector<int> counts = co_await pool.map(limits, count_primes);
    for (std::size_t index = 0; index < limits.size(); ++index) {
        std::printf("primes below %d: %d\n", limits[index], counts[index]);
    }

    // A function that takes a stop_token hears of a cancellation; its task stops when it has
    // returned.
    auto endless = [](std::stop_token stop) {
        std::uint64_t rounds = 0;
        while (!stop.stop_requested()) {
            ++rounds;
        }
        return rounds;
    };
    try {
        (void)co_await weir::timeout(20ms, pool.run(endless));
    } catch (const weir::timed_out&) {
        std::puts("the endless computation was stopped");
    }
}

weir::task<> program() {
    int beats = 0;
    const auto beating = weir::spawn(heartbeat(beats));
    co_await compute();
    beating.cancel();
    co_await beating.wait();
    std::printf("the heart has beaten meanwhile: %s\n", beats >= 5 ? "yes" : "no");
}

int main() {
    weir::run(program());
}
