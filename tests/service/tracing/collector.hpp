// SPDX-License-Identifier: MIT
// A small OpenTelemetry collector on loopback: it keeps the spans that it was sent.
#pragma once

#include <weir/http/json.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tracing_test {

namespace bj = boost::json;
namespace http = weir::http;
namespace io = weir::io;
using namespace std::chrono_literals;

// A span as the collector sees it.
struct seen_span {
    std::string trace;
    std::string id;
    std::string parent;  // empty: none
    std::string name;
    std::string state;
    int kind = 0;
    bool is_error = false;
    std::string error;
    std::uint64_t nanoseconds = 0;
    std::map<std::string, std::string> attributes;
};

class collector {
public:
    collector() {
        io::listener listener = io::listen(io::address::loopback(0));
        port_ = listener.local_address().port();
        auto answer = [this](http::request& request) -> weir::task<http::response> {
            const std::string body = co_await request.text();
            ++requests;
            EXPECT_EQ(request.path(), "/v1/traces");
            EXPECT_EQ(request.header("Content-Type"), "application/json");
            if (status != http::status::ok) {
                http::response refusal(status);
                if (!retry_after.empty()) {
                    refusal.headers().set("Retry-After", retry_after);
                }
                co_return refusal;
            }
            take(http::parse_json(body, {.max_depth = 64}));
            co_return http::response::json_text("{}");
        };
        running_ = weir::spawn(http::serve(std::move(listener), std::move(answer)));
    }
    collector(const collector&) = delete;
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    std::uint16_t port() const noexcept { return port_; }

    const seen_span* find(const std::string& name) const {
        for (const seen_span& each : spans) {
            if (each.name == name) {
                return &each;
            }
        }
        return nullptr;
    }
    weir::task<> wait_for(std::size_t count) {
        for (int i = 0; i < 2000 && spans.size() < count; ++i) {
            co_await weir::sleep(5ms);
        }
        EXPECT_GE(spans.size(), count);
    }

    http::status status = http::status::ok;
    std::string retry_after;
    int requests = 0;
    std::string service_name;
    std::vector<seen_span> spans;
    std::vector<std::size_t> batches;

private:
    void take(const bj::value& body) {
        const bj::value& resource = body.at("resourceSpans").at(0);
        service_name = resource.at("resource")
                           .at("attributes")
                           .at(0)
                           .at("value")
                           .at("stringValue")
                           .as_string();
        const bj::array& all = resource.at("scopeSpans").at(0).at("spans").as_array();
        batches.push_back(all.size());
        for (const bj::value& each : all) {
            spans.push_back(read(each));
        }
    }
    static seen_span read(const bj::value& from) {
        const auto text = [&](const char* name) {
            const bj::value* const found = from.as_object().if_contains(name);
            return found == nullptr ? std::string() : std::string(found->as_string());
        };
        seen_span span;
        span.trace = text("traceId");
        span.id = text("spanId");
        span.parent = text("parentSpanId");
        span.name = text("name");
        span.state = text("traceState");
        span.kind = from.at("kind").to_number<int>();
        EXPECT_EQ(span.trace.size(), 32U);
        EXPECT_EQ(span.id.size(), 16U);
        const std::uint64_t begin = std::stoull(text("startTimeUnixNano"));
        const std::uint64_t end = std::stoull(text("endTimeUnixNano"));
        EXPECT_LE(begin, end);
        span.nanoseconds = end - begin;
        if (const bj::value* const status = from.as_object().if_contains("status")) {
            span.is_error = status->at("code").to_number<int>() == 2;
            span.error = status->at("message").as_string();
        }
        for (const bj::value& each : from.at("attributes").as_array()) {
            const bj::value& value = each.at("value");
            const bj::value* const number = value.as_object().if_contains("intValue");
            span.attributes[std::string(each.at("key").as_string())] =
                (number != nullptr ? number : &value.at("stringValue"))->as_string();
        }
        return span;
    }

    std::uint16_t port_ = 0;
    weir::handle<> running_;
};

}  // namespace tracing_test
