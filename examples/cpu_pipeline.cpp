// SPDX-License-Identifier: MIT
// Threads: a pipeline of CPU work that a cancellation stops, however deep inside it is
//
// Numbers come from the loop, a pool of threads factors them, results come back in order. The
// pipeline is cancelled while it works on a number that would take for ever.
#include <weir/flow/map_concurrent.hpp>
#include <weir/io/thread_pool.hpp>
#include <weir/weir.hpp>

#include <cstdint>
#include <iostream>
#include <stop_token>
#include <string>
#include <vector>

constexpr std::uint64_t endless = 0;

// Runs on a thread of the pool. It looks at the token every few thousand steps; what it returns
// after a stop is not used.
std::vector<std::uint64_t> factor(std::stop_token stop, std::uint64_t number) {
    std::vector<std::uint64_t> factors;
    std::uint64_t divisor = 2;
    for (std::uint64_t step = 1; number == endless || number > 1; ++step) {
        if (step % 4096 == 0 && stop.stop_requested()) {
            break;
        }
        if (number != endless && number % divisor == 0) {
            factors.push_back(divisor);
            number /= divisor;
        } else {
            ++divisor;
        }
    }
    return factors;
}

weir::task<> print_factors(weir::thread_pool& pool, std::vector<std::uint64_t> numbers,
                           weir::event& is_busy) {
    auto on_pool = [&pool](std::uint64_t number) { return pool.run(factor, number); };
    auto results = weir::map_concurrent(std::move(numbers), 4, on_pool);
    while (auto factors = co_await results.next()) {
        std::string line;
        for (const std::uint64_t each : *factors) {
            line += (line.empty() ? "" : " * ") + std::to_string(each);
        }
        std::cout << line << '\n';
        if (line.starts_with("3")) {
            is_busy.set();  // all that is left is behind the endless one
        }
    }
}

weir::task<> program() {
    weir::thread_pool pool({.name = "factors"});
    const std::vector<std::uint64_t> numbers{360, 1'001, 65'537, 999'999, endless, 12};
    weir::event is_busy;
    auto work = weir::spawn(print_factors(pool, numbers, is_busy));
    co_await is_busy.wait();
    work.cancel();
    co_await work.wait();  // ends once no thread works on it
    std::cout << (work.cancelled() ? "cancelled" : "completed")
              << ", and the pool is free: " << (co_await pool.run([] { return 6 * 7; })) << '\n';
}

int main() {
    weir::run(program());
}
