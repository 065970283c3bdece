// SPDX-License-Identifier: MIT
// Telemetry: what policies, limiters and pools tell the outside. Two directions, one interface
// each:
//
//   events    rare changes as they happen (a breaker opens, a retry is scheduled), pushed to the
//             observer named in the options;
//   metrics   counters and gauges, asked for when somebody wants them: every primitive has
//             write_metrics(metric_writer&), and counts in plain integers meanwhile.
//
// `metrics` collects sources; prometheus.hpp writes them in the format that Prometheus reads.
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
    double value = 0;  // where there is one: a delay in seconds, an attempt's number
};

// Called on the loop's thread in the middle of things: it must not throw, and not block.
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

// What write_metrics() writes to. Names follow Prometheus: weir_<kind>_<what>, counters end in
// _total, times are in seconds; the name of the source is the label "name".
class metric_writer {
public:
    using labels = std::initializer_list<metric_label>;

    virtual void counter(std::string_view name, std::string_view help,
                         std::span<const metric_label> labels, double value) = 0;
    virtual void gauge(std::string_view name, std::string_view help,
                       std::span<const metric_label> labels, double value) = 0;
    // Cumulative: counts[i] of values up to bounds[i]; count and sum of all.
    virtual void histogram(std::string_view name, std::string_view help,
                           std::span<const metric_label> labels, std::span<const double> bounds,
                           std::span<const std::uint64_t> counts, std::uint64_t count,
                           double sum) = 0;

    void counter(std::string_view name, std::string_view help, labels with, double value) {
        counter(name, help, std::span(with.begin(), with.size()), value);
    }
    void gauge(std::string_view name, std::string_view help, labels with, double value) {
        gauge(name, help, std::span(with.begin(), with.size()), value);
    }

protected:
    ~metric_writer() = default;
};

}  // namespace weir
