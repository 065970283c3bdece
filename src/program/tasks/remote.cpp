// SPDX-License-Identifier: MIT
// Every failure becomes a remote_error with the service's own words where it has some.

#include "program/tasks/remote.hpp"

#include "program/output/program_name.hpp"
#include "program/output/text.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>

#include <chrono>

namespace weir::program {

namespace {

constexpr std::size_t max_answer_bytes = 64 << 20;

// The detail of a problem+json, or the beginning of the body.
std::string detail_of(std::string_view body) {
    try {
        const boost::json::value value = http::parse_json(body);
        if (const auto detail = http::optional_member<std::string>(value, "detail")) {
            return *detail;
        }
        if (const auto title = http::optional_member<std::string>(value, "title")) {
            return *title;
        }
    } catch (const http::problem&) {
    }
    return std::string(body.substr(0, 200));
}

// A task may have a payload that is as deep as the service accepts.
boost::json::value parse_answer(std::string_view body) {
    constexpr std::size_t max_answer_depth = 64;
    return http::parse_json(body, {.max_depth = max_answer_depth});
}

http::client_options client_options(const remote_settings& settings) {
    http::client_options options;
    options.timeout = std::chrono::seconds(30);
    options.tls.ca_file = settings.ca_file;
    return options;
}

// A task service reports every error in this form.
bool is_from_a_service(const http::client_response& answer) {
    const auto type = answer.headers().find("Content-Type");
    return type.has_value() && type->starts_with("application/problem+json");
}

}  // namespace

remote::remote(const remote_settings& settings)
    : url_(settings.url), client_(client_options(settings)) {
    if (!settings.ca_file.empty()) {
        trust_ = tls::context::client({.ca_file = settings.ca_file});
    }
    while (url_.ends_with('/')) {
        url_.pop_back();
    }
    if (const secrets tokens = find_tokens(settings.token_file, settings.tokens_from,
                                           secret_variables::of_environment());
        !tokens.lines.empty()) {
        const std::string& line = tokens.lines.front();
        token_ = line.substr(0, line.find_first_of(" \t"));  // its scopes may follow
    }
}

std::string remote::how_to_reach() {
    return " (start a service with `" + program_name() +
           " serve`, or give its address with --server or WEIR_SERVER)";
}

std::string remote::events_url(std::string_view query) const {
    std::string at = url_ + "/events?" + std::string(query);
    return at.replace(0, 4, "ws");  // http, https
}

task<boost::json::value> remote::get(std::string path) {
    return send(http::client_request(http::method::get, url_ + path));
}

task<boost::json::value> remote::post(std::string path, std::string json) {
    return send(http::method::post, std::move(path), std::move(json));
}

task<boost::json::value> remote::put(std::string path, std::string json) {
    return send(http::method::put, std::move(path), std::move(json));
}

task<boost::json::value> remote::patch(std::string path, std::string json) {
    return send(http::method::patch, std::move(path), std::move(json));
}

task<boost::json::value> remote::post(std::string path) {
    return send(http::client_request(http::method::post, url_ + path));
}

task<boost::json::value> remote::post_within(clock::duration limit, std::string path) {
    http::client_request request(http::method::post, url_ + path);
    request.set_timeout(limit);
    request.set_stall_timeout(limit);
    return send(std::move(request));
}

task<boost::json::value> remote::remove(std::string path) {
    return send(http::client_request(http::method::delete_, url_ + path));
}

task<boost::json::value> remote::send(http::method verb, std::string path, std::string json) {
    http::client_request request(verb, url_ + path);
    request.set_body(std::move(json), "application/json");
    return send(std::move(request));
}

task<std::optional<std::string>> remote::post_text(clock::duration limit, std::string path,
                                                   std::string json) {
    http::client_request request(http::method::post, url_ + path);
    if (!json.empty()) {
        request.set_body(std::move(json), "application/json");
    }
    request.set_connect_timeout(std::chrono::seconds(5));
    request.set_timeout(limit);
    request.set_stall_timeout(limit);
    return send_text(std::move(request));
}

task<boost::json::value> remote::send(http::client_request request) {
    const std::optional<std::string> body = co_await send_text(std::move(request));
    try {
        co_return body.has_value() ? parse_answer(*body) : boost::json::value();
    } catch (const http::problem& error) {
        throw remote_error(url_ + " is not a task service: its answer is no JSON (" + error.what() +
                           ")" + how_to_reach());
    }
}

task<std::optional<std::string>> remote::send_text(http::client_request request) {
    if (!token_.empty()) {
        request.set_bearer(token_);
    }
    std::string failure;
    std::string detail;
    unsigned status = 0;
    try {
        http::client_response answer = co_await client_.send(std::move(request));
        std::string body = co_await answer.text(max_answer_bytes);
        if (http::is_success(answer.status())) {
            if (answer.status() == http::status::no_content) {
                co_return std::nullopt;
            }
            co_return body;
        }
        status = http::number_of(answer.status());
        detail = shown(
            body.empty() ? std::string(http::reason_of(answer.status())) : detail_of(body), 2000);
        failure = std::to_string(status) + ": " + detail;
        if (answer.status() == http::status::unauthorized) {
            failure += token_.empty()
                           ? " (give a token with --token-file or WEIR_TOKEN)"
                           : " (the token of --token-file or WEIR_TOKEN is not valid here)";
        } else if (answer.status() == http::status::not_found && !is_from_a_service(answer)) {
            failure += ": " + url_ + " is not a task service" + how_to_reach();
            status = 0;
        }
    } catch (const http::transport_error& error) {
        failure = std::string(error.what()) + how_to_reach();
    }
    throw remote_error(failure, status, detail);
}

std::string text_of(const boost::json::value& answer, std::string_view member) {
    return http::optional_member<std::string>(answer, member).value_or("");
}

}  // namespace weir::program
