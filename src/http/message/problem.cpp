// SPDX-License-Identifier: MIT
// The members are stored as JSON and joined by json(). to_response() tells errors apart by their
// type, inside groups as well; an unknown error becomes a 500 without details.

#include "base/json_text.hpp"

#include <weir/error.hpp>
#include <weir/http/problem.hpp>
#include <weir/refusal.hpp>

#include <algorithm>
#include <array>

namespace weir::http {

namespace {

constexpr std::array<std::string_view, 5> standard_members = {"type", "title", "status", "detail",
                                                              "instance"};

void append_member(std::string& to, std::string_view name, std::string_view json) {
    if (to.size() > 1) {
        to += ',';
    }
    base::append_json_string(to, name);
    to += ':';
    to += json;
}

void append_text(std::string& to, std::string_view name, std::string_view text) {
    if (!text.empty()) {
        append_member(to, name, "");
        base::append_json_string(to, text);
    }
}

response answer_to(const refused& error) {
    problem_details details(status::service_unavailable);
    details.detail("overloaded; try again later");
    const clock::duration wait = error.retry_after();
    if (wait > clock::duration::zero() && wait != refusal::never) {
        details.header("Retry-After", to_retry_after(wait));
    }
    return details.to_response();
}

response answer_to_timeout() {
    return response::problem(status::gateway_timeout, "a dependency took too long");
}

response answer_to(const problem& error) {
    if (const auto* const detailed = dynamic_cast<const detailed_problem*>(&error)) {
        return detailed->details().to_response();
    }
    return response::problem(error.code(), error.what());
}

}  // namespace

problem_details& problem_details::type(std::string_view uri) {
    type_ = uri;
    return *this;
}

problem_details& problem_details::title(std::string_view words) {
    title_ = words;
    return *this;
}

problem_details& problem_details::detail(std::string_view words) {
    detail_ = words;
    return *this;
}

problem_details& problem_details::instance(std::string_view uri) {
    instance_ = uri;
    return *this;
}

problem_details& problem_details::member(std::string_view name, std::string_view text) {
    std::string json;
    base::append_json_string(json, text);
    return json_member(name, json);
}

problem_details& problem_details::member(std::string_view name, bool value) {
    return json_member(name, value ? "true" : "false");
}

problem_details& problem_details::json_member(std::string_view name, std::string_view json) {
    if (std::find(standard_members.begin(), standard_members.end(), name) !=
        standard_members.end()) {
        throw invalid_argument("problem_details: the member '" + std::string(name) +
                               "' has its own setter");
    }
    for (auto& [known, value] : members_) {
        if (known == name) {
            value = json;
            return *this;
        }
    }
    members_.emplace_back(name, json);
    return *this;
}

problem_details& problem_details::header(std::string_view name, std::string_view value) {
    headers_.set(name, value);
    return *this;
}

std::string problem_details::json() const {
    std::string document = "{";
    append_text(document, "type", type_);
    const std::string_view reason = reason_of(code_);
    append_text(document, "title", !title_.empty() ? title_ : !reason.empty() ? reason : "Problem");
    append_member(document, "status", std::to_string(number_of(code_)));
    append_text(document, "detail", detail_);
    append_text(document, "instance", instance_);
    for (const auto& [name, value] : members_) {
        append_member(document, name, value);
    }
    document += "}\n";
    return document;
}

response problem_details::to_response() const {
    response answer(code_, "application/problem+json", http::body(json()));
    for (const auto& [name, value] : headers_) {
        answer.headers().add(name, value);
    }
    return answer;
}

response to_response(const std::exception_ptr& error) {
    if (error != nullptr) {
        try {
            std::rethrow_exception(error);
        } catch (const problem& thrown) {
            return answer_to(thrown);
        } catch (const refused& thrown) {
            return answer_to(thrown);
        } catch (const timed_out&) {
            return answer_to_timeout();
        } catch (const cancelled&) {
            return response::problem(status::service_unavailable, "the request was cancelled");
        } catch (const error_group& thrown) {
            if (const auto* const inside = thrown.find<problem>()) {
                return answer_to(*inside);
            }
            if (const auto* const inside = thrown.find<refused>()) {
                return answer_to(*inside);
            }
            if (thrown.contains<timed_out>()) {
                return answer_to_timeout();
            }
        } catch (...) {
        }
    }
    return response::problem(status::internal_server_error);
}

std::string to_retry_after(clock::duration wait) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(
        std::clamp(wait, clock::duration(1), clock::duration(std::chrono::hours(24 * 365))));
    return std::to_string(seconds.count());
}

}  // namespace weir::http
