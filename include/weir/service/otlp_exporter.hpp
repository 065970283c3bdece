// SPDX-License-Identifier: MIT
// otlp_exporter: sends spans to an OpenTelemetry collector, as OTLP/HTTP in JSON.
//
//     service::otlp_exporter exporter({.endpoint = "http://127.0.0.1:4318"});
//     service::service tasks(*store, {.tracing = {.sink = &exporter, .sample = 0.1}});
//     group.spawn(exporter.run());
//
// Spans wait in a buffer of a limited size and go out in batches, in the background. A collector
// that is down or overloaded is tried again, with growing delays. Spans that find the buffer full,
// or that the collector refuses, are dropped and counted: the service is never held up. Belongs to
// one loop.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/service/trace.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::service {

struct otlp_options {
    std::string endpoint;  // 'http://127.0.0.1:4318'; '/v1/traces' is appended
    std::string service_name = "weir";
    std::string version = "0.1.0";
    std::size_t max_buffered = 4096;  // spans
    std::size_t max_batch = 512;
    clock::duration interval = std::chrono::seconds(1);  // a span waits so long at most
    clock::duration timeout = std::chrono::seconds(10);  // of one request
    // Delays after failures: the first, then twice as long each time.
    clock::duration initial_delay = std::chrono::seconds(1);
    clock::duration max_delay = std::chrono::seconds(30);
    clock::duration flush_limit = std::chrono::seconds(2);  // for the rest, once stopped
    hook<void(std::string_view)> log{};                     // the collector fails, or works again
};

struct otlp_stats {
    std::uint64_t exported = 0;
    std::uint64_t dropped = 0;
    std::uint64_t failures = 0;  // requests
    std::size_t buffered = 0;
};

class otlp_exporter final : public span_sink {
public:
    // Throws invalid_argument for invalid options.
    explicit otlp_exporter(otlp_options options);
    otlp_exporter(const otlp_exporter&) = delete;
    otlp_exporter& operator=(const otlp_exporter&) = delete;
    ~otlp_exporter();

    void record(span ended) noexcept override;
    // Exports until it is stopped, and then what is left.
    task<> run();

    otlp_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace weir::service
