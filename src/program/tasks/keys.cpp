// SPDX-License-Identifier: MIT
// weir keys: the flow keys of a queue. weir limit: limits of a queue, or of one of its keys.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/table.hpp"
#include "program/output/terminal.hpp"
#include "program/output/text.hpp"
#include "program/tasks/queue_lookup.hpp"
#include "program/tasks/remote.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/percent.hpp>
#include <weir/run.hpp>

#include <boost/json/object.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace weir::program {

namespace {

namespace json = boost::json;

constexpr std::size_t keys_per_page = 1000;  // as many as the API gives at once

// 'running 4, rate 10/s burst 5'; empty where the queue's limits apply.
std::string own_limits_text(const json::value& key) {
    std::string all;
    const auto add = [&](const char* name, std::string_view member, const char* unit) {
        if (const auto limit = http::optional_member<double>(key, member)) {
            char text[48];
            std::snprintf(text, sizeof text, "%s %.15g%s", name, *limit, unit);
            all += all.empty() ? "" : ", ";
            all += *limit == 0 ? std::string(name) + " unlimited" : text;
        }
    };
    add("running", "max_running", "");
    add("rate", "rate", "/s");
    add("burst", "burst", "");
    return all;
}

task<json::object> fetch_keys(remote& service, const keys_settings& settings) {
    const std::string path = "/queues/" + http::encode_component(settings.queue) + "/keys?";
    json::array keys;
    for (;;) {
        http::query_parameters query;
        query.add("limit", std::to_string(std::min(keys_per_page, settings.limit - keys.size())));
        if (settings.is_only_set) {
            query.add("set", "true");
        }
        if (!keys.empty()) {
            query.add("cursor", text_of(keys.back(), "key"));
        }
        const json::value page = co_await service.get(path + query.text());
        for (const json::value& each : http::member<json::array>(page, "keys")) {
            keys.push_back(each);
        }
        const json::value next = http::member<json::value>(page, "next");
        if (next.is_null() || keys.size() >= settings.limit) {
            json::object all;
            all["keys"] = std::move(keys);
            all["next"] = next;
            co_return all;
        }
    }
}

void print_keys(const json::object& found) {
    using fit = table::fit;
    table keys({{"key"},
                {"state", fit::whole},
                {"pending", fit::number},
                {"due", fit::number},
                {"running", fit::number},
                {"limits"}});
    for (const json::value& each : found.at("keys").as_array()) {
        const auto count = [&](std::string_view member) {
            const auto number = http::optional_member<std::uint64_t>(each, member);
            return number.has_value() ? std::to_string(*number) : "?";
        };
        keys.add({text_of(each, "key"), http::member<bool>(each, "paused") ? "paused" : "active",
                  count("pending"), count("due"), count("running"), own_limits_text(each)});
    }
    if (!is_terminal(STDOUT_FILENO) || !keys.empty()) {
        keys.print();
    } else {
        std::puts("no flow keys");
    }
}

task<int> list_keys(const keys_settings& settings) {
    remote service(settings.to);
    co_await require_queue(service, settings.queue);
    const json::object found = co_await fetch_keys(service, settings);
    if (settings.as_json) {
        print_json(found);
        co_return 0;
    }
    print_keys(found);
    if (!found.at("next").is_null() && is_terminal(STDOUT_FILENO)) {
        std::fprintf(stderr, "There are more: --limit shows them.\n");
    }
    co_return 0;
}

std::string limit_request(const limit_settings& settings) {
    json::object request;
    for (const auto& [name, value] : settings.limits) {
        request[name] = value;
    }
    return http::to_json(request);
}

task<int> set_limits(const limit_settings& settings) {
    remote service(settings.to);
    co_await require_queue(service, settings.queue);
    const std::string path = "/queues/" + http::encode_component(settings.queue);
    const bool is_key = !settings.key.empty();
    json::value answer;
    if (is_key) {
        answer = co_await service.put(path + "/keys/" + http::encode_component(settings.key),
                                      limit_request(settings));
    } else {
        answer = co_await service.patch(path, limit_request(settings));
    }
    if (settings.as_json) {
        print_json(answer);
        co_return 0;
    }
    const json::value limits = http::member<json::value>(answer, "limits");
    const std::string text = is_key ? own_limits_text(answer) : limits_text(limits);
    std::printf("%s%s%s\n", shown(is_key ? settings.key : settings.queue).c_str(),
                is_terminal(STDOUT_FILENO) ? "  " : "\t",
                text.empty() ? (is_key ? "as the queue" : "no limits") : text.c_str());
    co_return 0;
}

// A number, 'none', or for a flow key 'queue'.
void add_limit(options& to, limit_settings& settings, const char* name, const char* member,
               const char* description, double least, bool is_whole) {
    to.value({name, "NUMBER", description, ""},
             [&settings, member, least, is_whole](const std::string& text) {
                 if (text == "none" || text == "queue") {
                     settings.limits.emplace_back(member, text);
                     return;
                 }
                 const double number = read_number(text, least, 1e6, is_whole);
                 settings.limits.emplace_back(
                     member, is_whole ? json::value(static_cast<std::int64_t>(number))
                                      : json::value(number));
             });
}

// 'none' is 0 for a key, whose null is the queue's limit, and null for a queue.
void resolve_words(limit_settings& settings) {
    for (auto& [member, value] : settings.limits) {
        const bool is_none = value.is_string() && value.get_string() == "none";
        const bool is_queue = value.is_string() && value.get_string() == "queue";
        const bool is_burst = member == "burst";
        if (is_queue && settings.key.empty()) {
            throw invalid_argument("'queue' is a value for a flow key (--key) alone");
        }
        if (is_none && !settings.key.empty()) {
            value = is_burst ? 1 : 0;
        } else if (is_none || is_queue) {
            value = nullptr;
        }
    }
}

}  // namespace

void add_options(options& to, keys_settings& settings) {
    to.text({"queue", "QUEUE", "The queue of the keys", "", false, true}, settings.queue);
    add_options(to, settings.to);
    to.flag({"--set", "", "Only keys with a pause or limits of their own", ""},
            settings.is_only_set);
    to.number({"-n,--limit", "COUNT", "Show at most this number of keys", "1000"}, settings.limit,
              1, 1'000'000);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_keys(const keys_settings& settings) {
    return weir::run(list_keys(settings));
}

void add_options(options& to, limit_settings& settings) {
    to.text({"queue", "QUEUE", "The queue", "", false, true}, settings.queue);
    add_options(to, settings.to);
    to.text({"--key", "KEY", "Limits of this flow key instead of those that the queue has for each",
             ""},
            settings.key);
    add_limit(to, settings, "--max-running", "max_running",
              "Tasks that run at a time; none: no limit; queue: the queue's, for a key", 0, true);
    add_limit(to, settings, "--rate", "rate", "Starts per second, or none, or queue", 0, false);
    add_limit(to, settings, "--burst", "burst", "Starts at once, with a rate", 1, true);
    add_limit(to, settings, "--max-pending", "max_pending", "Further submits are refused", 0, true);
    add_limit(to, settings, "--key-max-running", "key_max_running",
              "Tasks of each flow key that run at a time", 0, true);
    add_limit(to, settings, "--key-rate", "key_rate", "Starts per second of each flow key", 0,
              false);
    add_limit(to, settings, "--key-burst", "key_burst",
              "Starts at once of each flow key, with a rate", 1, true);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_limit(const limit_settings& settings) {
    limit_settings resolved = settings;
    resolve_words(resolved);
    if (resolved.limits.empty()) {
        throw invalid_argument("give a limit, such as --max-running 4 or --rate none");
    }
    for (const auto& [member, value] : resolved.limits) {
        if (!resolved.key.empty() && (member.starts_with("key_") || member == "max_pending")) {
            throw invalid_argument(
                "a flow key (--key) has --max-running, --rate and --burst alone");
        }
    }
    return weir::run(set_limits(resolved));
}

}  // namespace weir::program
