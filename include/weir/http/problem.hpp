// SPDX-License-Identifier: MIT
// Errors as documents that programs can read: problem+json, RFC 9457.
//
//     http::problem_details details(http::status::conflict);
//     details.type("https://example.com/problems/out-of-stock")
//         .detail("there are 3 left")
//         .member("left", 3);
//     return details.to_response();               // or: throw http::detailed_problem(details);
//
// The client sees all of it: it must not contain secrets. For just a status and a sentence, use
// response::problem(status, detail) or `throw http::problem(status, detail)`.
#pragma once

#include <weir/clock.hpp>
#include <weir/http/error.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/response.hpp>
#include <weir/http/status.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http {

class problem_details {
public:
    explicit problem_details(http::status code) noexcept : code_(code) {}

    // The kind of problem, as a URI. Default: none, the status says enough.
    problem_details& type(std::string_view uri);
    // The kind in words, the same each time. Default: the name of the status.
    problem_details& title(std::string_view words);
    // This occurrence in words.
    problem_details& detail(std::string_view words);
    // This occurrence as a URI.
    problem_details& instance(std::string_view uri);
    // Further members. Throws invalid_argument for the five of the standard, which have their own
    // setters.
    problem_details& member(std::string_view name, std::string_view text);
    problem_details& member(std::string_view name, const char* text) {
        return member(name, std::string_view(text));
    }
    problem_details& member(std::string_view name, bool value);
    template <std::integral Number>
        requires(!std::same_as<Number, bool>)
    problem_details& member(std::string_view name, Number value) {
        return json_member(name, std::to_string(value));
    }
    // The value is JSON text.
    problem_details& json_member(std::string_view name, std::string_view json);
    // A header of the response.
    problem_details& header(std::string_view name, std::string_view value);

    http::status code() const noexcept { return code_; }
    const std::string& detail() const noexcept { return detail_; }
    std::string json() const;
    response to_response() const;

private:
    http::status code_;
    std::string type_;
    std::string title_;
    std::string detail_;
    std::string instance_;
    std::vector<std::pair<std::string, std::string>> members_;  // as JSON
    http::headers headers_;
};

// problem_details as an exception.
class detailed_problem : public problem {
public:
    explicit detailed_problem(problem_details details)
        : problem(details.code(), details.detail()),
          details_(std::make_shared<const problem_details>(std::move(details))) {}
    const problem_details& details() const noexcept { return *details_; }

private:
    std::shared_ptr<const problem_details> details_;  // exceptions are copied
};

// The response to a request whose handler threw the error:
//   problem and those derived from it   their status and text
//   weir::refused                       503, with Retry-After if it is known
//   weir::timed_out                     504
//   weir::cancelled                     503
//   weir::error_group                   as the first of these that is in it
//   anything else                       500; its text is not for clients, so it is not in there
response to_response(const std::exception_ptr& error);

// The value of Retry-After: whole seconds, rounded up, at least 1.
std::string to_retry_after(clock::duration wait);

}  // namespace weir::http
