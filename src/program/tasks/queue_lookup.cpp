// SPDX-License-Identifier: MIT
// The service creates queues on first use, so a mistyped name is no error to it.

#include "program/tasks/queue_lookup.hpp"

#include "program/command_line/options.hpp"
#include "program/output/program_name.hpp"
#include "program/output/text.hpp"

#include <weir/http/json.hpp>

#include <algorithm>
#include <vector>

namespace weir::program {

task<std::string> unknown_queue(remote& service, std::string name) {
    constexpr std::size_t max_listed = 20;
    const boost::json::value answer = co_await service.get("/queues");
    std::vector<std::string> names;
    for (const boost::json::value& each : http::member<boost::json::array>(answer, "queues")) {
        names.push_back(text_of(each, "name"));
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
        co_return std::string();
    }
    const std::string message = "there is no queue '" + shown(name, 100) + "'";
    if (names.empty()) {
        co_return message + "; there are none yet: the first task creates one";
    }
    if (names.size() > max_listed && nearest(name, names).empty()) {
        co_return message + "; `" + program_name() + " queues` lists those that exist";
    }
    co_return shown(unknown("queue", name, names));
}

task<> require_queue(remote& service, std::string name) {
    constexpr unsigned not_found = 404;
    const std::string message = co_await unknown_queue(service, std::move(name));
    if (!message.empty()) {
        throw remote_error(message, not_found, message);
    }
}

}  // namespace weir::program
