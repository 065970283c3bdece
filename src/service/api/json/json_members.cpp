// SPDX-License-Identifier: MIT
// Numbers are read as what they mean: 8, 8.0 and 8e0 are the same whole number.

#include "service/api/json/json_members.hpp"

#include "base/quoted.hpp"

#include <algorithm>
#include <cmath>

namespace weir::service::detail {

namespace {

constexpr double max_seconds = 1e7;    // of a timeout or a backoff
constexpr std::size_t max_shown = 60;  // bytes of an unknown name in a message

}  // namespace

std::string listed_names(std::span<const std::string_view> names) {
    std::string all;
    for (const std::string_view each : names) {
        all += all.empty() ? "" : ", ";
        all += each;
    }
    return all;
}

void throw_bad_member_value(std::string_view member, std::string_view expected) {
    throw invalid_value(
        member, "the member '" + std::string(member) + "' must be " + std::string(expected));
}

void expect_members(const boost::json::value& body, std::span<const std::string_view> known) {
    const boost::json::object* const object = body.if_object();
    if (object == nullptr) {
        throw http::problem(http::status::unprocessable_content, "a JSON object is expected");
    }
    for (const auto& each : *object) {
        const std::string_view name(each.key().data(), each.key().size());
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            throw invalid_value(name.substr(0, max_shown),
                                "the member " + base::quoted(name, max_shown) +
                                    " is unknown; known are: " + listed_names(known));
        }
    }
}

const boost::json::value* given_member(const boost::json::value& body, std::string_view name) {
    const boost::json::value* const found =
        body.as_object().if_contains(boost::json::string_view(name.data(), name.size()));
    return found == nullptr || found->is_null() ? nullptr : found;
}

std::optional<std::int64_t> read_whole_number(const boost::json::value& body, std::string_view name,
                                              std::int64_t least, std::int64_t most) {
    const boost::json::value* const found = given_member(body, name);
    if (found == nullptr) {
        return std::nullopt;
    }
    boost::system::error_code error;
    const auto value = found->is_number() ? found->to_number<std::int64_t>(error) : 0;
    if (!found->is_number() || error || value < least || value > most) {
        throw_bad_member_value(
            name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
}

std::string read_text(const boost::json::value& body, std::string_view name) {
    std::optional<std::string> value = read_member<std::string>(body, name);
    if (!value) {
        throw invalid_value(name, "the member '" + std::string(name) + "' is missing");
    }
    return std::move(*value);
}

void read_texts(std::vector<std::string>& into, const boost::json::value& body,
                std::string_view name) {
    const boost::json::value* const member = given_member(body, name);
    if (member == nullptr) {
        return;
    }
    if (!member->is_array()) {
        throw_bad_member_value(name, "an array of texts");
    }
    for (const boost::json::value& each : member->get_array()) {
        if (!each.is_string()) {
            throw_bad_member_value(name, "an array of texts");
        }
        const boost::json::string& text = each.get_string();
        std::string found(text.data(), text.size());
        if (std::find(into.begin(), into.end(), found) == into.end()) {
            into.push_back(std::move(found));
        }
    }
}

std::optional<double> read_seconds(const boost::json::value& body, std::string_view name,
                                   double max) {
    const boost::json::value* const found = given_member(body, name);
    if (found == nullptr) {
        return std::nullopt;
    }
    const double value = found->is_number() ? found->to_number<double>() : -1;
    if (!(value >= 0 && value <= max)) {
        throw_bad_member_value(
            name, "a number of seconds from 0 to " + std::to_string(static_cast<long long>(max)));
    }
    return value;
}

std::optional<std::chrono::milliseconds> read_milliseconds(const boost::json::value& body,
                                                           std::string_view name) {
    const std::optional<double> value = read_seconds(body, name, max_seconds);
    if (!value) {
        return std::nullopt;
    }
    return std::chrono::milliseconds(std::llround(*value * 1000));
}

}  // namespace weir::service::detail
