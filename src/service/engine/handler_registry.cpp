// SPDX-License-Identifier: MIT
// A map from kinds to handlers. An unknown kind is an error that lists the known ones, so that a
// typing error is seen at once.

#include "service/engine/handler_registry.hpp"

#include "service/store/store_texts.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/service/service.hpp>

#include <algorithm>

namespace weir::service::detail {

namespace {
constexpr std::size_t max_kind_bytes = 100;
constexpr std::size_t max_destination_bytes = 500;
}  // namespace

void handler_registry::add(std::string kind, handler run, payload_check accepts,
                           destination_rule where) {
    if (kind.empty() || kind.size() > max_kind_bytes) {
        throw invalid_argument("service::handle: the kind is '" + kind.substr(0, max_kind_bytes) +
                               "'; it must have 1 to " + std::to_string(max_kind_bytes) + " bytes");
    }
    if (!run) {
        throw invalid_argument("service::handle: the handler of '" + kind + "' is empty");
    }
    weir::service::check(where.limits);
    const auto [added, is_new] = entries_.try_emplace(
        std::move(kind), entry{std::move(run), std::move(accepts), std::move(where)});
    if (!is_new) {
        throw invalid_argument("service::handle: '" + added->first + "' has a handler already");
    }
}

const handler* handler_registry::find(const std::string& kind) const {
    const auto found = entries_.find(kind);
    return found == entries_.end() ? nullptr : &found->second.run;
}

std::vector<std::string> handler_registry::kinds() const {
    std::vector<std::string> all;
    for (const auto& each : entries_) {
        all.push_back(each.first);
    }
    std::ranges::sort(all);
    return all;
}

std::vector<std::string> handler_registry::all_kinds() const {
    std::vector<std::string> all = kinds();
    for (const std::string& each : remote_.registered()) {
        if (!entries_.contains(each)) {
            all.push_back(each);
        }
    }
    std::ranges::sort(all);
    return all;
}

void handler_registry::check(const new_task& task) const {
    const auto found = entries_.find(task.kind);
    if (found == entries_.end() && !remote_.contains(task.kind)) {
        throw_unknown(task.kind);
    }
    if (found != entries_.end() && found->second.accepts) {
        try {
            found->second.accepts(http::parse_json(task.payload));
        } catch (const permanent_failure& error) {
            throw invalid_value("payload", std::string("task: payload: ") + error.what());
        } catch (const invalid_argument& error) {
            throw invalid_value("payload", error.what());
        }
    }
    check_callback("on_success", task.on_success);
    check_callback("on_failure", task.on_failure);
}

// As a task that delivers it would be checked.
void handler_registry::check_callback(std::string_view member, const callback& request) const {
    if (!request.is_set()) {
        return;
    }
    const auto refuse = [member](const char* reason) {
        throw invalid_value(member, "task: " + std::string(member) + ": " + reason);
    };
    try {
        check(new_task(std::string(callback_kind), payload_of(request, "null")));
    } catch (const unknown_kind& error) {
        refuse(error.what());
    } catch (const http::problem& error) {  // headers that are not JSON
        refuse(error.what());
    } catch (const invalid_argument& error) {
        refuse(error.what());
    }
}

std::string handler_registry::destination_of(const new_task& task) const {
    const auto found = entries_.find(task.kind);
    if (found == entries_.end() || !found->second.where.name_of) {
        return {};
    }
    try {
        return storable_text(found->second.where.name_of(http::parse_json(task.payload)),
                             max_destination_bytes);
    } catch (const std::exception&) {
        return {};  // the handler will say what is wrong with the payload
    }
}

void handler_registry::assign(new_task& task) const {
    task.is_remote = is_remote(task.kind);
    task.destination = destination_of(task);
    for (callback* const each : {&task.on_success, &task.on_failure}) {
        if (each->is_set()) {
            each->destination =
                destination_of(new_task(std::string(callback_kind), payload_of(*each, "null")));
        }
    }
}

void handler_registry::prepare(new_task& task) const {
    weir::service::check(task);
    try {
        check(task);
    } catch (const invalid_value& error) {
        const bool gets_payload = std::ranges::any_of(task.after, &dependency::gives_payload);
        if (!gets_payload || error.member() != "payload") {
            throw;
        }
    }
    assign(task);
}

std::string handler_registry::endpoint_of(const new_task& task) const {
    const auto found = entries_.find(task.kind);
    if (found == entries_.end() || !found->second.where.endpoint_of) {
        return {};
    }
    try {
        std::string name = found->second.where.endpoint_of(http::parse_json(task.payload));
        return name.size() <= max_endpoint_bytes ? name : std::string();
    } catch (const std::exception&) {
        return {};
    }
}

std::vector<std::pair<std::string, destination_limits>> handler_registry::destination_kinds()
    const {
    std::vector<std::pair<std::string, destination_limits>> all;
    for (const auto& [kind, each] : entries_) {
        if (each.where.name_of) {
            all.emplace_back(kind, each.where.limits);
        }
    }
    return all;
}

void handler_registry::throw_unknown(std::string_view kind) const {
    const std::vector<std::string> known = all_kinds();
    std::string error = "no handler for '";
    error += kind;
    error += known.empty() ? "'; no kind has a handler" : "'; known kinds:";
    for (const std::string& each : known) {
        error += ' ';
        error += each;
    }
    error +=
        "; a kind for workers is known once a worker has asked for it, or if remote-kinds has it";
    throw unknown_kind(error);
}

}  // namespace weir::service::detail
