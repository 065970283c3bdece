// SPDX-License-Identifier: MIT
// Members that are empty are left out.

#include "service/store/sqlite/rows/callback_rows.hpp"

#include "service/store/follow_ups.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace weir::service::detail {

namespace {

namespace json = boost::json;

void write(json::object& to, const char* name, const callback& request) {
    if (!request.is_set()) {
        return;
    }
    json::object written;
    const auto add = [&](const char* member, const std::string& text) {
        if (!text.empty()) {
            written[member] = text;
        }
    };
    add("url", request.url);
    add("headers", request.headers);
    add("queue", request.queue);
    add("destination", request.destination);
    to[name] = std::move(written);
}

void read(callback& into, const json::object& from, const char* name) {
    const json::value* const found = from.if_contains(name);
    if (found == nullptr) {
        return;
    }
    const auto take = [&](const char* member, std::string& text) {
        if (const json::value* const value = found->as_object().if_contains(member)) {
            text = std::string(value->as_string());
        }
    };
    take("url", into.url);
    take("headers", into.headers);
    take("queue", into.queue);
    take("destination", into.destination);
}

}  // namespace

std::string write_callbacks(const new_task& task) {
    if (!has_follow_ups(task)) {
        return {};
    }
    json::object written;
    write(written, "success", task.on_success);
    write(written, "failure", task.on_failure);
    return json::serialize(written);
}

void read_callbacks(new_task& into, std::string_view text) {
    if (text.empty()) {
        return;
    }
    const json::value parsed = json::parse(json::string_view(text.data(), text.size()));
    read(into.on_success, parsed.as_object(), "success");
    read(into.on_failure, parsed.as_object(), "failure");
}

}  // namespace weir::service::detail
