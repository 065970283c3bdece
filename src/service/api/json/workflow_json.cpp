// SPDX-License-Identifier: MIT
// A dependency is a text, the name or the id of a task, or an object with its policy. Names hide
// ids: a client chooses them.

#include "service/api/json/workflow_json.hpp"

#include "base/quoted.hpp"
#include "base/raw_json.hpp"
#include "service/api/json/json_members.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/json_write.hpp"

#include <weir/http/problem.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace weir::service::detail {

namespace {

namespace bj = boost::json;

using known_names = std::map<std::string, std::size_t, std::less<>>;

constexpr std::array<std::string_view, 3> graph_members = {"name", "after", "payload_from"};

failure_policy read_policy(const bj::value& body, std::string_view name, failure_policy otherwise) {
    const auto text = read_member<std::string>(body, name);
    const std::optional<failure_policy> policy =
        text ? parse_failure_policy(*text) : std::optional(otherwise);
    if (!policy) {
        throw_bad_member_value(name, "'cancel', 'run' or 'hold'");
    }
    return *policy;
}

dependency find_dependency(std::string_view member, const std::string& text,
                           const known_names& names) {
    dependency found;
    if (const auto known = names.find(text); known != names.end()) {
        found.position = known->second;
        return found;
    }
    const std::optional<task_id> id = task_id::parse(text);
    if (!id || !*id) {
        throw invalid_value(member, "in '" + std::string(member) + "': " + base::quoted(text, 60) +
                                        " is neither the name of an earlier task of the request "
                                        "nor the id of a task");
    }
    found.task = *id;
    return found;
}

dependency read_dependency(const bj::value& entry, const known_names& names) {
    constexpr std::array<std::string_view, 2> known = {"task", "on_failure"};
    if (entry.is_string()) {
        return find_dependency("after", std::string(entry.get_string()), names);
    }
    if (!entry.is_object()) {
        throw_bad_member_value("after",
                               "an array of names and ids, or objects with task and "
                               "on_failure");
    }
    expect_members(entry, known);
    return find_dependency("after", read_text(entry, "task"), names)
        .with(read_policy(entry, "on_failure", failure_policy::cancel));
}

void read_after(new_task& task, const bj::value& body, const known_names& names) {
    if (const bj::value* const after = given_member(body, "after")) {
        if (!after->is_array()) {
            throw_bad_member_value("after", "an array of names and ids of tasks");
        }
        for (const bj::value& each : after->get_array()) {
            task.after.push_back(read_dependency(each, names));
        }
    }
    const auto from = read_member<std::string>(body, "payload_from");
    if (!from) {
        return;
    }
    if (given_member(body, "payload") != nullptr) {
        throw_bad_member_value("payload_from", "left out if 'payload' is given");
    }
    const dependency parent = find_dependency("payload_from", *from, names);
    const auto known = std::ranges::find_if(task.after, [&](const dependency& each) {
        return each.task == parent.task && each.position == parent.position;
    });
    if (known != task.after.end()) {
        known->gives_payload = true;
    } else {
        task.after.push_back(parent.as_payload());
    }
}

// Without what belongs to the graph.
new_task read_plain_task(const bj::value& body, std::string_view raw, timestamp now) {
    const bj::object* const object = body.if_object();
    const bool is_plain =
        object == nullptr || std::ranges::none_of(graph_members, [&](std::string_view each) {
            return object->contains(bj::string_view(each.data(), each.size()));
        });
    if (is_plain) {
        return read_new_task(body, raw, now);
    }
    bj::object rest = *object;
    for (const std::string_view each : graph_members) {
        rest.erase(bj::string_view(each.data(), each.size()));
    }
    return read_new_task(rest, raw, now);
}

// A URL, an object with a url, or a task.
new_task read_group_callback(const bj::value& member, std::string_view raw, timestamp now) {
    const bool is_url = member.is_string();
    const bool is_delivery = member.is_object() && member.get_object().contains("url");
    if (!is_url && !is_delivery) {
        return read_new_task(member, raw, now);
    }
    callback request;
    if (is_url) {
        request.url = std::string(member.get_string());
    } else {
        constexpr std::array<std::string_view, 3> known = {"url", "headers", "queue"};
        expect_members(member, known);
        request.url = read_text(member, "url");
        request.headers = base::raw_member(raw, "headers");
        request.headers = request.headers == "null" ? "" : request.headers;
        read_into(request.queue, member, "queue");
    }
    new_task delivery(std::string(callback_kind), payload_of(request, "{}"));
    if (!request.queue.empty()) {
        delivery.queue = request.queue;
    }
    return delivery;
}

}  // namespace

bool is_workflow(const bj::value& body) {
    const bj::object* const object = body.if_object();
    if (object != nullptr && object->contains("group")) {
        return true;
    }
    const bj::value* const list = object != nullptr ? object->if_contains("tasks") : &body;
    if (list == nullptr || !list->is_array()) {
        return false;
    }
    return std::ranges::any_of(list->get_array(), [](const bj::value& each) {
        const bj::object* const task = each.if_object();
        return task != nullptr && std::ranges::any_of(graph_members, [&](std::string_view member) {
                   return task->contains(bj::string_view(member.data(), member.size()));
               });
    });
}

new_task read_dependent_task(const bj::value& body, std::string_view raw, timestamp now) {
    new_task task = read_plain_task(body, raw, now);
    read_after(task, body, {});
    return task;
}

named_tasks read_named_tasks(const bj::value& array, std::string_view raw, std::size_t max_tasks,
                             timestamp now) {
    if (!array.is_array()) {
        throw invalid_value("tasks", "the tasks must be an array");
    }
    const bj::array& all = array.get_array();
    if (all.size() > max_tasks) {
        throw http::problem(http::status::content_too_large,
                            "there are " + std::to_string(all.size()) + " tasks; up to " +
                                std::to_string(max_tasks) + " are taken at once");
    }
    const std::vector<std::string_view> texts = base::raw_elements(raw);
    named_tasks read;
    known_names names;
    for (std::size_t i = 0; i < all.size(); ++i) {
        try {
            new_task task = read_plain_task(all[i], texts[i], now);
            read_after(task, all[i], names);
            std::string name = read_member<std::string>(all[i], "name").value_or("");
            if (!name.empty() &&
                !names.emplace(read_name("name", name, max_group_name), i).second) {
                throw invalid_value(
                    "name", "another task of the request has the name " + base::quoted(name, 60));
            }
            read.tasks.push_back(std::move(task));
            read.names.push_back(std::move(name));
        } catch (const invalid_value& error) {
            throw invalid_value(error.member(), "task " + std::to_string(i) + ": " + error.what());
        }
    }
    return read;
}

new_group read_new_group(const bj::value& body, std::string_view raw,
                         std::span<const std::string_view> extra, timestamp now) {
    constexpr std::array<std::string_view, 7> own = {
        "name", "queue", "callback", "on_failure", "on_cancel", "sealed", "idempotency_key"};
    std::vector<std::string_view> known(own.begin(), own.end());
    known.insert(known.end(), extra.begin(), extra.end());
    expect_members(body, known);
    new_group group;
    read_into(group.name, body, "name");
    read_into(group.queue, body, "queue");
    read_into(group.is_sealed, body, "sealed");
    read_into(group.idempotency_key, body, "idempotency_key");
    group.on_failure = read_policy(body, "on_failure", group.on_failure);
    const std::string on_cancel = read_member<std::string>(body, "on_cancel").value_or("run");
    if (on_cancel != "run" && on_cancel != "skip") {
        throw_bad_member_value("on_cancel", "'run' or 'skip'");
    }
    group.runs_callback_on_cancel = on_cancel == "run";
    if (const bj::value* const callback = given_member(body, "callback")) {
        try {
            group.callback = read_group_callback(*callback, base::raw_member(raw, "callback"), now);
        } catch (const invalid_value& error) {
            throw invalid_value("callback", std::string("in 'callback': ") + error.what());
        }
    }
    return group;
}

run_key read_run_key(const bj::value& body, std::string_view name) {
    run_key key;
    const bj::value* const member = given_member(body, name);
    if (member == nullptr) {
        return key;
    }
    constexpr std::array<std::string_view, 2> known = {"id", "run"};
    expect_members(*member, known);
    key.id = read_task_id(read_text(*member, "id"));
    read_integer(key.run, *member, "run", 0U, 4'000'000'000U);
    return key;
}

void write_group(json_writer& json, const group_record& group) {
    json.member("id", group.id.text());
    json.member_or_null("name", group.name);
    json.member("queue", group.queue);
    json.member("state", to_string(group.state));
    json.member("is_held", group.is_held());
    json.member("sealed", group.is_sealed);
    json.member("on_failure", to_string(group.on_failure));
    json.member("on_cancel", group.runs_callback_on_cancel ? "run" : "skip");
    json.member("total", group.total);
    json.member("open", group.open);
    json.member("completed", group.completed());
    json.member("failed", group.failed);
    json.member("cancelled", group.cancelled);
    json.member_or_null("callback", group.callback_kind);
    json.member_or_null("callback_task",
                        group.callback_task ? group.callback_task.text() : std::string());
    json.member("created_at", group.created_at);
    json.member("finished_at", group.finished_at);
}

void write_parents(json_writer& json, std::span<const dependency_record> parents) {
    json.key("after").begin_array();
    for (const dependency_record& each : parents) {
        json.begin_object();
        json.member("task", each.task.text());
        json.member("on_failure", to_string(each.on_failure));
        json.member("outcome", to_string(each.outcome));
        json.end_object();
    }
    json.end_array();
}

void write_dependencies(json_writer& json, const task_record& task,
                        std::span<const task_id> children) {
    write_parents(json, task.parents);
    json.key("children").begin_array();
    for (const task_id each : children) {
        json.text(each.text());
    }
    json.end_array();
}

}  // namespace weir::service::detail
