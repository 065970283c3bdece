// SPDX-License-Identifier: MIT
// A service with its API, in memory and simulated time; every answer is held against the
// description.
#pragma once

#include <weir/http/answered.hpp>
#include <weir/http/json.hpp>
#include <weir/service/api.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/service/service.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace api_test {

namespace bj = boost::json;
namespace http = weir::http;
using namespace weir::service;

// JSON Schema, as much of it as the description uses. Empty: the value fits.
class schema_check {
public:
    explicit schema_check(const bj::value& document) : document_(document) {}

    std::string operator()(const bj::value& schema, const bj::value& value,
                           const std::string& at = "$") const {
        const bj::object& rules = schema.as_object();
        if (const bj::value* const reference = rules.if_contains("$ref")) {
            const std::string wrong = (*this)(resolve(reference->as_string()), value, at);
            if (!wrong.empty()) {
                return wrong;
            }
        }
        if (const bj::value* const type = rules.if_contains("type"); type && !is(*type, value)) {
            return at + " is " + bj::serialize(value) + ", not " + bj::serialize(*type);
        }
        if (const bj::value* const allowed = rules.if_contains("enum")) {
            bool is_there = false;
            for (const bj::value& each : allowed->as_array()) {
                is_there = is_there || each == value;
            }
            if (!is_there) {
                return at + " is " + bj::serialize(value);
            }
        }
        if (const bj::value* const several = rules.if_contains("oneOf")) {
            std::size_t fits = 0;
            for (const bj::value& each : several->as_array()) {
                fits += (*this)(each, value, at).empty() ? 1 : 0;
            }
            if (fits != 1) {
                return at + " fits " + std::to_string(fits) + " of oneOf: " + bj::serialize(value);
            }
        }
        if (const std::string wrong = size(rules, value, at); !wrong.empty()) {
            return wrong;
        }
        if (const bj::array* const array = value.if_array()) {
            if (const bj::value* const items = rules.if_contains("items")) {
                for (const bj::value& each : *array) {
                    const std::string wrong = (*this)(*items, each, at + "[]");
                    if (!wrong.empty()) {
                        return wrong;
                    }
                }
            }
        }
        return value.is_object() ? members(rules, value.get_object(), at) : "";
    }
    const bj::value& resolve(std::string_view reference) const {
        return document_.at_pointer(reference.substr(1));
    }

private:
    std::string members(const bj::object& rules, const bj::object& value,
                        const std::string& at) const {
        if (const bj::value* const required = rules.if_contains("required")) {
            for (const bj::value& each : required->as_array()) {
                if (!value.contains(each.as_string())) {
                    return at + " has no " + std::string(each.as_string());
                }
            }
        }
        const bj::value* const known = rules.if_contains("properties");
        const bj::value* const other = rules.if_contains("additionalProperties");
        for (const auto& each : value) {
            const std::string place = at + "." + std::string(each.key());
            const bj::value* const rule =
                known != nullptr ? known->as_object().if_contains(each.key()) : nullptr;
            std::string wrong;
            if (rule != nullptr) {
                wrong = (*this)(*rule, each.value(), place);
            } else if (other != nullptr && other->is_object()) {
                wrong = (*this)(*other, each.value(), place);
            } else if (other != nullptr && !other->as_bool()) {
                wrong = place + " is not described";
            }
            if (!wrong.empty()) {
                return wrong;
            }
        }
        return "";
    }
    // Lengths are counted in bytes: a limit in bytes implies the same limit in characters.
    static std::string size(const bj::object& rules, const bj::value& value,
                            const std::string& at) {
        const auto is_within = [&](const char* least, const char* most, double is) {
            const bj::value* const low = rules.if_contains(least);
            const bj::value* const high = rules.if_contains(most);
            return (low == nullptr || is >= low->to_number<double>()) &&
                   (high == nullptr || is <= high->to_number<double>());
        };
        const bool is_well =
            value.is_number()   ? is_within("minimum", "maximum", value.to_number<double>())
            : value.is_string() ? is_within("minLength", "maxLength",
                                            static_cast<double>(value.get_string().size()))
            : value.is_array()
                ? is_within("minItems", "maxItems", static_cast<double>(value.get_array().size()))
                : true;
        return is_well ? "" : at + " is too small or too large: " + bj::serialize(value);
    }
    static bool is(const bj::value& type, const bj::value& value) {
        if (const bj::array* const several = type.if_array()) {
            for (const bj::value& each : *several) {
                if (is(each, value)) {
                    return true;
                }
            }
            return false;
        }
        const std::string_view name = type.as_string();
        return (name == "null" && value.is_null()) || (name == "boolean" && value.is_bool()) ||
               (name == "string" && value.is_string()) || (name == "array" && value.is_array()) ||
               (name == "object" && value.is_object()) ||
               (name == "integer" &&
                (value.is_int64() || value.is_uint64() ||
                 (value.is_double() && std::trunc(value.get_double()) == value.get_double()))) ||
               (name == "number" && value.is_number());
    }

    const bj::value& document_;
};

struct answer {
    answer() = default;
    unsigned code = 0;
    bj::value json;
    std::string text;
    http::headers headers;

    std::string detail() const { return std::string(json.at("detail").as_string()); }
    std::string operator[](std::string_view name) const {
        const bj::value& found = json.at(name);
        return found.is_string() ? std::string(found.as_string()) : bj::serialize(found);
    }
};

using fields = std::vector<std::pair<std::string, std::string>>;

class site {
public:
    explicit site(const service_options& settings = {}, const api_options& options = {})
        : tasks(store, settings) {
        tasks.handle("echo", [](job& job) -> weir::task<bj::value> { co_return job.payload(); });
        tasks.handle("sleep", [](job& job) -> weir::task<bj::value> {
            co_await weir::sleep(std::chrono::seconds(http::member<int>(job.payload(), "seconds")));
            co_return nullptr;
        });
        tasks.handle("fail", [](job&) -> weir::task<bj::value> {
            throw std::runtime_error("it went wrong \xff <b>");
            co_return nullptr;
        });
        app.emplace(make_api(tasks, options));
    }
    site(const site&) = delete;
    ~site() { app.reset(); }

    void start() { running_ = weir::spawn(tasks.run()); }
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
    }

    weir::task<answer> get(std::string target, fields headers = {}) {
        return ask(http::method::get, std::move(target), {}, std::move(headers));
    }
    weir::task<answer> post(std::string target, std::string body = {}, fields headers = {}) {
        return ask(http::method::post, std::move(target), std::move(body), std::move(headers));
    }
    weir::task<answer> ask(http::method verb, std::string target, std::string body,
                           fields request_headers = {}) {
        http::request request(verb, target);
        request.headers().set("Host", "localhost:8080");
        if (!body.empty()) {
            request.headers().set("Content-Type", "application/json");
            request.set_body(std::move(body));
        }
        for (const auto& [name, value] : request_headers) {
            request.headers().set(name, value);
        }
        http::response response;
        try {
            response = co_await (*app)(request);
        } catch (...) {
            ADD_FAILURE() << target << ": an error left the API";
            response = http::to_response(std::current_exception());
        }
        answer reply;
        reply.code = number_of(response.status());
        reply.text = response.body().text();
        reply.headers = response.headers();
        if (response.content_type().find("json") != std::string_view::npos) {
            reply.json = http::parse_json(reply.text, {.max_depth = 64});
        }
        EXPECT_LT(reply.code, 600U);
        EXPECT_NE(reply.code, 500U) << target << " " << reply.text;
        hold_against_description(verb, request.route(), response, reply);
        co_return reply;
    }
    // A task that was submitted, its id.
    weir::task<std::string> submit(std::string body) {
        const answer response = co_await post("/tasks", std::move(body));
        EXPECT_EQ(response.code, 202U) << response.text;
        co_return response["id"];
    }
    const bj::value& description() const { return description_.value(); }
    // To be called before the first request.
    weir::task<> learn() {
        http::request request(http::method::get, "/openapi.json");
        request.headers().set("Host", "localhost");
        const http::response response = co_await (*app)(request);
        description_ = http::parse_json(response.body().text(), {.max_depth = 64});
    }

    memory_store store;
    service tasks;
    std::optional<http::router> app;

private:
    void hold_against_description(http::method verb, std::string_view route,
                                  const http::response& response, const answer& reply) {
        if (!description_ || reply.code == 404 || reply.code == 405 || reply.code == 101) {
            return;
        }
        const schema_check fits(*description_);
        std::string name(http::name_of(verb));
        for (char& letter : name) {
            letter = static_cast<char>(letter | 0x20);
        }
        const bj::object& paths = description_->at("paths").as_object();
        const bj::value* const path = paths.if_contains(route);
        if (path == nullptr || !path->as_object().contains(name)) {
            EXPECT_TRUE(route.empty() || route == "/") << route;
            return;
        }
        const bj::object& answers = path->at(name).at("responses").as_object();
        const bj::value* described = answers.if_contains(std::to_string(reply.code));
        if (described == nullptr) {
            EXPECT_GE(reply.code, 400U) << name << " " << route << " gives " << reply.code;
            described = &answers.at(reply.code < 500 ? "4XX" : "5XX");
        }
        if (const bj::value* const reference = described->as_object().if_contains("$ref")) {
            described = &fits.resolve(reference->as_string());
        }
        const bj::value* const content = described->as_object().if_contains("content");
        if (content == nullptr) {
            EXPECT_TRUE(reply.text.empty());
            return;
        }
        const std::string_view type =
            response.content_type().substr(0, response.content_type().find(';'));
        const bj::value* const form = content->as_object().if_contains(type);
        ASSERT_NE(form, nullptr) << name << " " << route << " gives " << type;
        if (type.find("json") != std::string_view::npos) {
            EXPECT_EQ(fits(form->at("schema"), reply.json), "") << name << " " << route;
        }
    }

    weir::handle<void> running_;
    std::optional<bj::value> description_;
};

}  // namespace api_test
