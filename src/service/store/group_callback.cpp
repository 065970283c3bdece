// SPDX-License-Identifier: MIT
// The service has checked that the payload of a callback is an object or null.

#include "service/store/group_callback.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace weir::service::detail {

namespace {

namespace json = boost::json;

json::object& object_in(json::value& any) {
    return any.is_object() ? any.get_object() : any.emplace_object();
}

json::object counts_of(const group_record& ended) {
    return {{"id", ended.id.text()},  {"state", std::string(to_string(final_state(ended)))},
            {"total", ended.total},   {"completed", ended.completed()},
            {"failed", ended.failed}, {"cancelled", ended.cancelled}};
}

}  // namespace

bool has_ended(const group_record& group) noexcept {
    return group.is_sealed && group.open == 0 && !is_final(group.state) && !group.is_held();
}

group_state final_state(const group_record& group) noexcept {
    return group.state == group_state::cancelling    ? group_state::cancelled
           : group.failed > 0 || group.cancelled > 0 ? group_state::failed
                                                     : group_state::completed;
}

group_callback callback_of(new_task request, const group_record& ended) {
    json::value payload = json::parse(request.payload);
    json::object& all = object_in(payload);
    json::object& into = request.kind == callback_kind ? object_in(all["body"]) : all;
    into["group"] = counts_of(ended);
    request.payload = json::serialize(payload);
    request.idempotency_key = "group/" + ended.id.text();
    group_callback made{std::move(request), {}};
    const group_state state = final_state(ended);
    if (state == group_state::cancelled && !ended.runs_callback_on_cancel) {
        made.error = "the group " + ended.id.text() + " was cancelled";
    } else if (state == group_state::failed && ended.on_failure != failure_policy::run) {
        made.error = "of the tasks of the group " + ended.id.text() + ", " +
                     std::to_string(ended.failed) + " have failed and " +
                     std::to_string(ended.cancelled) + " were cancelled";
    }
    return made;
}

std::string upstream_error(task_id parent, dependency_outcome outcome) {
    const std::string text = "the task " + parent.text() + ", which it comes after, ";
    switch (outcome) {
        case dependency_outcome::failed:
            return text + "has failed";
        case dependency_outcome::cancelled:
            return text + "was cancelled";
        case dependency_outcome::open:
        case dependency_outcome::completed:
        case dependency_outcome::gone:
            break;
    }
    return text + "does not exist any more";
}

std::string unmet_text(const dependency_record& unmet) {
    std::string text = unmet.task.text();
    if (unmet.outcome == dependency_outcome::open) {
        return text + ", which has not ended";
    }
    return text +
           (unmet.outcome == dependency_outcome::failed ? ", which has failed"
                                                        : ", which was cancelled") +
           ": retry it, or cancel this task";
}

verdict_on_child verdict_for(failure_policy policy, dependency_outcome outcome) noexcept {
    if (outcome == dependency_outcome::open) {
        return verdict_on_child::waits;
    }
    if (outcome == dependency_outcome::completed || policy == failure_policy::run) {
        return verdict_on_child::released;
    }
    return policy == failure_policy::hold && outcome != dependency_outcome::gone
               ? verdict_on_child::waits
               : verdict_on_child::cancelled;
}

dependency_outcome outcome_of(task_state state) noexcept {
    switch (state) {
        case task_state::completed:
            return dependency_outcome::completed;
        case task_state::failed:
            return dependency_outcome::failed;
        case task_state::cancelled:
            return dependency_outcome::cancelled;
        case task_state::pending:
        case task_state::running:
            break;
    }
    return dependency_outcome::open;
}

}  // namespace weir::service::detail
