// SPDX-License-Identifier: MIT
// Traces: which request led to which task, run and delivery, as OpenTelemetry draws it.
//
//     if (const trace_context trace = job.trace(); trace.is_set()) {
//         request.set_header("traceparent", trace.traceparent());
//     }
//
// A trace_context is what W3C Trace Context sends along: the id of the trace and of the span that
// led here. A task keeps the one that its client sent. A service with a span_sink (service_options)
// makes spans of submits, runs and deliveries, and gives them to the sink; without one it passes
// the client's context on as it is.
#pragma once

#include <weir/service/task.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weir::service {

struct trace_context {
    trace_context() = default;

    // Empty if the traceparent is invalid. An invalid or long tracestate is left out.
    static std::optional<trace_context> parse(std::string_view traceparent,
                                              std::string_view tracestate = {});
    // '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'; empty if it is not set.
    std::string traceparent() const;
    bool is_set() const noexcept { return trace_id != std::array<std::uint8_t, 16>{}; }
    bool is_sampled() const noexcept { return (flags & 1) != 0; }

    std::array<std::uint8_t, 16> trace_id{};
    std::array<std::uint8_t, 8> span_id{};
    std::uint8_t flags = 0;
    std::string tracestate;
};

// As OTLP numbers them.
enum class span_kind : unsigned char { internal = 1, server, client, producer, consumer };

struct span {
    span() = default;

    using attribute = std::pair<std::string, std::variant<std::string, std::int64_t>>;

    trace_context context;  // with the id of this span
    std::array<std::uint8_t, 8> parent_id{};
    std::string name;
    span_kind kind = span_kind::internal;
    timestamp started_at{};
    timestamp ended_at{};
    std::vector<attribute> attributes;
    bool is_error = false;
    std::string error;
};

// Receives spans that have ended, on the service's loop. Must be fast.
class span_sink {
public:
    virtual void record(span ended) noexcept = 0;

protected:
    ~span_sink() = default;
};

// Makes spans.
class span_recorder {
public:
    // A span inside the parent, which is set; it begins now.
    virtual span begin(const trace_context& parent, std::string name, span_kind kind) = 0;
    // It ends now. Spans of traces that are not sampled are not recorded.
    virtual void end(span ended) noexcept = 0;

protected:
    ~span_recorder() = default;
};

struct tracing_options {
    span_sink* sink = nullptr;  // null: no spans; must outlive the service
    // The share of tasks without a trace that begin one, 0 to 1.
    double sample = 0;
};

}  // namespace weir::service
