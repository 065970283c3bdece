// SPDX-License-Identifier: MIT
// How not to process a stream: obvious implementations, each with its defect.
#pragma once

#include "support.hpp"

#include <weir/gather.hpp>
#include <weir/sync/semaphore.hpp>

namespace stream_tests {

// A task for every item, at once. The semaphore bounds the calls, but nothing bounds the tasks: the
// source is read to its end before the first result is ready.
inline task<std::vector<int>> unbounded_map(probe& watched, int limit) {
    weir::semaphore places(limit);
    std::vector<task<int>> tasks;
    auto source = watched.source();
    auto call = [&](int number) -> task<int> {
        const auto place = co_await places.acquire();
        co_return co_await watched.call(number);
    };
    while (auto number = co_await source.next()) {
        tasks.push_back(call(*number));
    }
    std::vector<int> results = co_await weir::gather(std::move(tasks));
    watched.taken = static_cast<int>(results.size());
    co_return results;
}

// The limit counts batches instead of items: each batch processes all of its items at once.
inline task<std::vector<int>> batch_counting_map(probe& watched, int limit) {
    weir::semaphore places(limit);
    auto process = [&](std::vector<int> numbers) -> task<std::vector<int>> {
        const auto place = co_await places.acquire();
        std::vector<task<int>> tasks;
        for (const int each : numbers) {
            tasks.push_back(watched.call(each));
        }
        std::vector<int> results = co_await weir::gather(std::move(tasks));
        watched.taken += static_cast<int>(results.size());
        co_return results;
    };
    std::vector<task<std::vector<int>>> batches;
    auto chunks = weir::chunk(watched.source(), 5);
    while (auto some = co_await chunks.next()) {
        batches.push_back(process(std::move(*some)));
    }
    std::vector<std::vector<int>> done = co_await weir::gather(std::move(batches));
    std::vector<int> results;
    for (const std::vector<int>& each : done) {
        results.insert(results.end(), each.begin(), each.end());
    }
    co_return results;
}

// Starts a chunk only when the previous one is done, and returns results in completion order.
inline task<std::vector<int>> disordered_map(probe& watched, int limit) {
    auto chunks = weir::chunk(watched.source(), static_cast<std::size_t>(limit));
    std::vector<int> results;
    auto call = [&](int number) -> task<> {
        const int made = co_await watched.call(number);
        ++watched.taken;
        results.push_back(made);
    };
    while (auto some = co_await chunks.next()) {
        std::vector<task<void>> tasks;
        for (const int each : *some) {
            tasks.push_back(call(each));
        }
        co_await weir::gather(std::move(tasks));
    }
    co_return results;
}

}  // namespace stream_tests
