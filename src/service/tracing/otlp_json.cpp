// SPDX-License-Identifier: MIT
// https://opentelemetry.io/docs/specs/otlp/: ids are hexadecimal, 64-bit numbers are texts.

#include "service/tracing/otlp_json.hpp"

#include "service/api/json/json_writer.hpp"

#include <chrono>

namespace weir::service::detail {

namespace {

constexpr int status_error = 2;

// Of '00-<trace id>-<span id>-01'.
std::string hex_trace_id(const trace_context& context) {
    return context.traceparent().substr(3, 32);
}
std::string hex_span_id(const trace_context& context) {
    return context.traceparent().substr(36, 16);
}

std::string nanoseconds(timestamp at) {
    return std::to_string(std::chrono::nanoseconds(at.time_since_epoch()).count());
}

void write_text(json_writer& json, std::string_view name, std::string_view value) {
    json.begin_object().member("key", name).key("value").begin_object();
    json.member("stringValue", value).end_object().end_object();
}

void write_attribute(json_writer& json, const span::attribute& attribute) {
    if (const std::string* const text = std::get_if<std::string>(&attribute.second)) {
        write_text(json, attribute.first, *text);
        return;
    }
    json.begin_object().member("key", std::string_view(attribute.first)).key("value");
    json.begin_object()
        .member("intValue", std::string_view(std::to_string(std::get<1>(attribute.second))))
        .end_object()
        .end_object();
}

void write_span(json_writer& json, const span& each) {
    json.begin_object();
    json.member("traceId", std::string_view(hex_trace_id(each.context)));
    json.member("spanId", std::string_view(hex_span_id(each.context)));
    if (!each.context.tracestate.empty()) {
        json.member("traceState", std::string_view(each.context.tracestate));
    }
    if (each.parent_id != std::array<std::uint8_t, 8>{}) {
        trace_context parent = each.context;
        parent.span_id = each.parent_id;
        json.member("parentSpanId", std::string_view(hex_span_id(parent)));
    }
    json.member("flags", each.context.flags);
    json.member("name", std::string_view(each.name));
    json.member("kind", static_cast<int>(each.kind));
    json.member("startTimeUnixNano", std::string_view(nanoseconds(each.started_at)));
    json.member("endTimeUnixNano", std::string_view(nanoseconds(each.ended_at)));
    json.key("attributes").begin_array();
    for (const span::attribute& attribute : each.attributes) {
        write_attribute(json, attribute);
    }
    json.end_array();
    if (each.is_error) {
        json.key("status").begin_object();
        json.member("code", status_error).member("message", std::string_view(each.error));
        json.end_object();
    }
    json.end_object();
}

}  // namespace

std::string otlp_body(std::span<const span> spans, std::string_view service_name,
                      std::string_view version) {
    std::string text;
    json_writer json(text);
    json.begin_object().key("resourceSpans").begin_array().begin_object();
    json.key("resource").begin_object().key("attributes").begin_array();
    write_text(json, "service.name", service_name);
    write_text(json, "service.version", version);
    json.end_array().end_object();
    json.key("scopeSpans").begin_array().begin_object();
    json.key("scope").begin_object().member("name", "weir").member("version", version).end_object();
    json.key("spans").begin_array();
    for (const span& each : spans) {
        write_span(json, each);
    }
    json.end_array();
    json.end_object().end_array();               // scopeSpans
    json.end_object().end_array().end_object();  // resourceSpans
    return text;
}

}  // namespace weir::service::detail
