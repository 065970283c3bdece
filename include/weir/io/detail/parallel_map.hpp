// SPDX-License-Identifier: MIT
// thread_pool::map. For each thread of the pool there is one lane: a task that has the pool process
// items, for a millisecond at a time, until none is left.
#pragma once

#include <weir/gather.hpp>
#include <weir/io/detail/thread_call.hpp>
#include <weir/task.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <ranges>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::detail {

// State shared by the lanes.
template <class Items, class Function>
class map_work {
    using returned =
        std::remove_cvref_t<std::invoke_result_t<Function&, std::ranges::range_reference_t<Items>>>;
    static constexpr bool has_values = !std::is_void_v<returned>;

public:
    using result = std::conditional_t<has_values, std::vector<returned>, void>;

    map_work(Items& items, Function& function)
        : items_(items), function_(function), size_(std::ranges::size(items)) {
        if constexpr (has_values) {
            values_.resize(size_);
        }
    }
    std::size_t size() const noexcept { return size_; }
    bool has_more() const noexcept { return next_.load(std::memory_order_relaxed) < size_; }

    // On a thread of the pool.
    void take_some(const std::stop_token& stop) {
        constexpr auto share = std::chrono::milliseconds(1);
        const auto until = std::chrono::steady_clock::now() + share;
        do {
            const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
            if (index >= size_ || stop.stop_requested()) {
                return;
            }
            try {
                take(index);
            } catch (...) {
                next_.store(size_, std::memory_order_relaxed);  // no further item begins
                throw;
            }
        } while (std::chrono::steady_clock::now() < until);
    }

    result take_values() {
        if constexpr (has_values) {
            std::vector<returned> all;
            all.reserve(size_);
            for (std::optional<returned>& each : values_) {
                all.push_back(std::move(*each));
            }
            return all;
        }
    }

private:
    void take(std::size_t index) {
        using difference = std::ranges::range_difference_t<Items>;
        auto&& item = std::ranges::begin(items_)[static_cast<difference>(index)];
        if constexpr (has_values) {
            values_[index].emplace(std::invoke(function_, std::forward<decltype(item)>(item)));
        } else {
            std::invoke(function_, std::forward<decltype(item)>(item));
        }
    }

    struct nothing {};
    Items& items_;
    Function& function_;
    std::size_t size_;
    std::atomic<std::size_t> next_{0};
    std::conditional_t<
        has_values, std::vector<std::optional<std::conditional_t<has_values, returned, nothing>>>,
        nothing>
        values_;
};

// GCC warns where these are given local lambdas: see spawn.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

// Shares the pool, which may be destroyed between two calls of a lane; the next one is refused.
template <class Work>
task<void> map_lane(shared_pool pool, Work& work) {
    const auto some = [&work](const std::stop_token& stop) { work.take_some(stop); };
    while (work.has_more()) {
        co_await thread_call<std::remove_const_t<decltype(some)>>(pool, thread_entry::waits, some);
    }
}

template <class Items, class Function>
auto map_indexed(shared_pool pool, Items items, Function function)
    -> task<typename map_work<Items, Function>::result> {
    map_work<Items, Function> work(items, function);
    std::vector<task<void>> lanes;
    const std::size_t count = std::min(work.size(), max_threads_of(*pool));
    lanes.reserve(count);
    while (lanes.size() < count) {
        lanes.push_back(map_lane(pool, work));
    }
    co_await gather(std::move(lanes));
    co_return work.take_values();
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <class Range, class Function, class Given, class GivenFunction>
auto parallel_map(shared_pool pool, Given&& items, GivenFunction&& function) {
    if constexpr (std::ranges::random_access_range<Range> && std::ranges::sized_range<Range>) {
        return map_indexed<Range, Function>(std::move(pool), std::forward<Given>(items),
                                            std::forward<GivenFunction>(function));
    } else {
        // First into a vector, so that each thread finds its items by index.
        std::vector<std::ranges::range_value_t<Range>> row;
        for (auto&& each : items) {
            if constexpr (std::is_rvalue_reference_v<Given&&> && !std::ranges::view<Range>) {
                row.push_back(std::move(each));
            } else {
                row.push_back(std::forward<decltype(each)>(each));
            }
        }
        return map_indexed<decltype(row), Function>(std::move(pool), std::move(row),
                                                    std::forward<GivenFunction>(function));
    }
}

}  // namespace weir::detail
