// SPDX-License-Identifier: MIT
// Counts and durations of the tasks that this process runs, by queue and kind.
#pragma once

#include "service/engine/handler_registry.hpp"

#include <weir/flow/duration_histogram.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/service/store.hpp>
#include <weir/service/task.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weir::service::detail {

// Tasks take from milliseconds to hours.
struct task_duration_bounds {
    static constexpr std::array<double, 17> seconds = {
        0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600};
};
using task_duration_histogram = basic_duration_histogram<task_duration_bounds>;

// The tasks of one queue and one kind.
struct task_series {
    // A run of the task was started: how long the task has been due.
    void count_start(const task_record& task) noexcept;
    // The end of a run is in the store.
    void count_end(const settlement& ended) noexcept;

    std::string queue;
    std::string kind;
    std::uint64_t started = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;  // for good
    std::uint64_t retried = 0;
    std::uint64_t cancelled = 0;
    task_duration_histogram waits;
    task_duration_histogram runs;
};

// The number of series is bounded, whatever names clients invent for queues: queues beyond
// max_series are counted together as 'other', and so are kinds without a handler, unless a worker
// has registered them.
class task_metrics {
public:
    static constexpr std::size_t max_series = 200;  // besides those of 'other'

    explicit task_metrics(const handler_registry& handlers) noexcept : handlers_(handlers) {}
    task_metrics(const task_metrics&) = delete;
    task_metrics& operator=(const task_metrics&) = delete;

    // Allocates only for a queue and kind that it has not seen. The reference stays valid.
    task_series& series_of(const new_task& task);
    void write(metric_writer& to) const;

private:
    struct label_pair {
        std::string_view queue;
        std::string_view kind;
        friend bool operator==(const label_pair&, const label_pair&) = default;
    };
    struct label_hash {
        std::size_t operator()(const label_pair& of) const noexcept {
            const std::hash<std::string_view> hash;
            return hash(of.queue) * 31 + hash(of.kind);
        }
    };

    task_series& find_or_add(label_pair labels);

    const handler_registry& handlers_;
    std::deque<task_series> series_;
    std::unordered_map<label_pair, task_series*, label_hash> places_;  // views of series_
};

}  // namespace weir::service::detail
