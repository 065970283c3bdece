// SPDX-License-Identifier: MIT
// The handlers of a service by kind, with the checks of payloads and the destinations; and the
// kinds that workers run.
#pragma once

#include "service/engine/remote_kinds.hpp"

#include <weir/service/job.hpp>
#include <weir/service/task.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::service::detail {

class handler_registry {
public:
    // `remote`: patterns of kinds that workers run. Throws invalid_argument.
    explicit handler_registry(std::vector<std::string> remote = {}) : remote_(std::move(remote)) {}

    // Throws invalid_argument if the kind is empty, too long, or has a handler.
    void add(std::string kind, handler run, payload_check accepts, destination_rule where = {});

    // Null if the kind has no handler. Stays valid.
    const handler* find(const std::string& kind) const;
    std::vector<std::string> kinds() const;  // sorted
    // The same, with those that workers have registered.
    std::vector<std::string> all_kinds() const;
    // Kinds that workers run. Those with a handler are the service's own, whatever is registered.
    remote_kinds& remote() noexcept { return remote_; }
    const remote_kinds& remote() const noexcept { return remote_; }
    bool is_remote(const std::string& kind) const {
        return !entries_.contains(kind) && remote_.contains(kind);
    }
    // Throws unknown_kind, or invalid_argument for a payload that the handler refuses, or for a
    // callback that cannot be delivered.
    void check(const new_task& task) const;
    // The destination of a task, by the rule of its kind; empty: none.
    std::string destination_of(const new_task& task) const;
    // Sets what the service decides: the destinations of the task and of its callbacks, and whether
    // workers run it.
    void assign(new_task& task) const;
    // Checks a task as service::check() does, and sets what the service decides. The payload of a
    // task that gets it from another one is not checked.
    void prepare(new_task& task) const;
    // The endpoint of a task, by the same rule; empty: none.
    std::string endpoint_of(const new_task& task) const;
    // The limits of the kinds that have destinations.
    std::vector<std::pair<std::string, destination_limits>> destination_kinds() const;

private:
    struct entry {
        handler run;
        payload_check accepts;  // may be empty
        destination_rule where;
    };

    void check_callback(std::string_view member, const callback& request) const;
    [[noreturn]] void throw_unknown(std::string_view kind) const;

    std::unordered_map<std::string, entry> entries_;
    remote_kinds remote_;
};

}  // namespace weir::service::detail
