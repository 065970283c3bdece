// SPDX-License-Identifier: MIT
// Destinations by kind and name. Nothing is parked: each question asks the gate.

#include "service/store/memory/memory_destinations.hpp"

#include <algorithm>
#include <tuple>

namespace weir::service::detail {

const destination_limits& memory_destinations::limits_of(const std::string& kind) const {
    static const destination_limits none;
    const auto found = limits_.find(kind);
    return found == limits_.end() ? none : found->second;
}

template <class Ask>
auto memory_destinations::ask(const task_record& task, Ask question) const {
    const auto found = destinations_.find({task.kind, task.destination});
    destination_state state =
        found == destinations_.end() ? destination_state() : found->second.state;
    return question(destination_gate(limits_of(task.kind), state));
}

void memory_destinations::insert(const task_record& task, bool is_due) {
    if (!task.destination.empty()) {
        destination& to = destinations_[{task.kind, task.destination}];
        ++to.tasks;
        to.due += is_due ? 1 : 0;
        to.state.running += task.state == task_state::running ? 1 : 0;
    }
}

void memory_destinations::remove(const task_record& task, bool is_due) {
    if (!task.destination.empty()) {
        destination& to = destinations_[{task.kind, task.destination}];
        --to.tasks;
        to.due -= is_due ? 1 : 0;
        to.state.running -= task.state == task_state::running ? 1 : 0;
    }
}

bool memory_destinations::has_room_for(const task_record& task, timestamp now) const {
    return task.destination.empty() ||
           ask(task, [now](const destination_gate& gate) { return gate.room(now) > 0; });
}

std::optional<timestamp> memory_destinations::free_at(const task_record& task,
                                                      timestamp now) const {
    if (task.destination.empty()) {
        return now;
    }
    return ask(task, [now](const destination_gate& gate) {
        return gate.is_full() ? std::nullopt : std::optional(gate.free_at(now));
    });
}

std::vector<hold> memory_destinations::holds(const task_record& task, timestamp now) const {
    if (task.destination.empty()) {
        return {};
    }
    std::vector<hold> all =
        ask(task, [now](const destination_gate& gate) { return gate.holds(now); });
    for (hold& each : all) {
        each.detail = task.destination;
    }
    return all;
}

void memory_destinations::started(const task_record& task, timestamp now) {
    if (!task.destination.empty()) {
        destination& to = destinations_[{task.kind, task.destination}];
        destination_gate(limits_of(task.kind), to.state).started(now, 1);
    }
}

void memory_destinations::ended(const task_record& task, const destination_report& report,
                                timestamp now) {
    if (!task.destination.empty()) {
        destination& to = destinations_[{task.kind, task.destination}];
        destination_gate(limits_of(task.kind), to.state).ended(report, now);
    }
}

std::vector<destination_record> memory_destinations::records(std::size_t limit,
                                                             timestamp now) const {
    std::vector<destination_record> all;
    for (const auto& [id, each] : destinations_) {
        destination_state state = each.state;
        const destination_gate gate(limits_of(id.first), state);
        destination_record& record = all.emplace_back();
        record.kind = id.first;
        record.name = id.second;
        record.circuit = gate.circuit(now);
        record.running = static_cast<std::uint64_t>(state.running);
        record.due = each.due;
        record.failures = static_cast<std::uint64_t>(state.failures);
        record.free_at = gate.free_at(now) > now ? gate.free_at(now) : timestamp{};
    }
    const auto holds_back = [](const destination_record& each) {
        return each.due > 0 && each.free_at != timestamp{};
    };
    std::ranges::sort(all, [&](const destination_record& one, const destination_record& other) {
        return std::tuple(!holds_back(one), one.kind, one.name) <
               std::tuple(!holds_back(other), other.kind, other.name);
    });
    all.resize(std::min(all.size(), limit));
    return all;
}

void memory_destinations::disable(const task_record& task, const settlement& ended, timestamp now) {
    if (ended.learnt.gone.empty() || disabled_.size() >= max_disabled_endpoints) {
        return;
    }
    const auto [added, is_new] = disabled_.try_emplace({task.kind, ended.learnt.gone});
    if (is_new) {
        added->second.kind = task.kind;
        added->second.name = ended.learnt.gone;
        added->second.since = now;
        added->second.reason = ended.error;
    }
}

std::vector<endpoint_record> memory_destinations::disabled() const {
    std::vector<endpoint_record> all;
    for (const auto& [id, each] : disabled_) {
        all.push_back(each);
    }
    return all;
}

bool memory_destinations::enable(const std::string& kind, const std::string& endpoint) {
    return disabled_.erase({kind, endpoint}) > 0;
}

void memory_destinations::purge(timestamp now) {
    const std::int64_t microseconds = now.time_since_epoch().count();
    std::erase_if(destinations_, [&](const auto& each) {
        const destination_state& state = each.second.state;
        return each.second.tasks == 0 && state.full_at <= microseconds * 1000 &&
               state.not_before <= microseconds && state.open_until <= microseconds;
    });
}

}  // namespace weir::service::detail
