// SPDX-License-Identifier: MIT
// Seconds are sent as such, so that the clock of this machine does not matter.

#include "program/tasks/expiry_option.hpp"

#include "program/tasks/task_filter_options.hpp"

#include <weir/error.hpp>

#include <charconv>

namespace weir::program {

namespace {

constexpr double longest_expiry = 10 * 366 * 86'400.0;  // as the API takes it

std::optional<double> as_seconds(const std::string& text) {
    double seconds = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, seconds, std::chars_format::fixed);
    const bool is_number = read.ec == std::errc() && read.ptr == end;
    return is_number ? std::optional(seconds) : std::nullopt;
}

void read_expiry(expiry_settings& into, const std::string& text, bool may_be_never) {
    into = {};
    into.is_set = true;
    if (may_be_never && text == "never") {
        return;
    }
    into.seconds = as_seconds(text);
    if (into.seconds.has_value() && *into.seconds >= 0 && *into.seconds <= longest_expiry) {
        return;
    }
    try {
        into.at = checked_time(text);
        into.seconds.reset();
    } catch (const invalid_argument&) {
        throw invalid_argument(
            "it must be seconds from now, up to ten years, a time as in 2026-11-15T09:30:00Z, or a "
            "day as in 2026-11-15" +
            std::string(may_be_never ? "; or 'never'" : ""));
    }
}

}  // namespace

void add_expiry_option(options& to, expiry_settings& settings, bool may_be_never) {
    const std::string forms = may_be_never ? "seconds from now, a time, a day, or never"
                                           : "seconds from now, a time or a day";
    to.value({"--expires", "WHEN", "It is cancelled unless a run has begun by then: " + forms, ""},
             [&settings, may_be_never](const std::string& text) {
                 read_expiry(settings, text, may_be_never);
             });
}

void add_expiry(boost::json::object& request, const expiry_settings& settings) {
    if (settings.seconds.has_value()) {
        request["expires_in"] = *settings.seconds;
    } else if (settings.is_set) {
        request["expires_at"] =
            settings.at.empty() ? boost::json::value(nullptr) : boost::json::value(settings.at);
    }
}

}  // namespace weir::program
