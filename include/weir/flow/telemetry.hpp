// SPDX-License-Identifier: MIT
// Telemetry of policies, limiters and pools:
//
//   events    rare changes (a breaker opens, a retry is scheduled), pushed to the observer named in
//             the options;
//   metrics   counters and gauges, pulled: every primitive has write_metrics(metric_writer&), and
//             counts in plain integers.
//
// prometheus.hpp collects sources of metrics and writes them as Prometheus reads them.
#pragma once

#include <weir/clock.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace weir {

struct flow_event {
    std::string_view kind;  // of the source: "circuit_breaker"
    std::string_view name;  // its name: "payments"
    std::string_view what;  // "opened"
    clock::time_point at;
    double value = 0;  // depends on the event: a delay in seconds, the number of an attempt
};

// Called synchronously on the loop's thread: must neither throw nor block.
class observer {
public:
    virtual void on_event(const flow_event& event) noexcept = 0;

protected:
    ~observer() = default;
};

struct metric_label {
    std::string_view name;
    std::string_view value;
};

// The target of write_metrics(). Names follow Prometheus: weir_<kind>_<what>, counters end in
// _total, times are in seconds; the label "name" is the name of the source.
class metric_writer {
public:
    using labels = std::initializer_list<metric_label>;

    virtual void counter(std::string_view name, std::string_view help,
                         std::span<const metric_label> labels, double value) = 0;
    virtual void gauge(std::string_view name, std::string_view help,
                       std::span<const metric_label> labels, double value) = 0;
    // Cumulative: counts[i] values are at most bounds[i]; count and sum of all values.
    virtual void histogram(std::string_view name, std::string_view help,
                           std::span<const metric_label> labels, std::span<const double> bounds,
                           std::span<const std::uint64_t> counts, std::uint64_t count,
                           double sum) = 0;

    void counter(std::string_view name, std::string_view help, labels pairs, double value) {
        counter(name, help, std::span(pairs.begin(), pairs.size()), value);
    }
    void gauge(std::string_view name, std::string_view help, labels pairs, double value) {
        gauge(name, help, std::span(pairs.begin(), pairs.size()), value);
    }

protected:
    ~metric_writer() = default;
};

}  // namespace weir
