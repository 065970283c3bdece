// SPDX-License-Identifier: MIT
// The destinations of a memory_store.
#pragma once

#include "service/store/destination_gate.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::service::detail {

class memory_destinations {
public:
    void limit(const std::string& kind, const destination_limits& limits) {
        limits_[kind] = limits;
    }

    // The same as memory_queues::insert() and remove(); tasks without a destination do not count.
    void insert(const task_record& task, bool is_due);
    void remove(const task_record& task, bool is_due);

    // These allow everything for a task without a destination.
    bool has_room_for(const task_record& task, timestamp now) const;
    // When circuit, pause and rate allow it; nothing while too many tasks run.
    std::optional<timestamp> free_at(const task_record& task, timestamp now) const;
    std::vector<hold> holds(const task_record& task, timestamp now) const;

    void started(const task_record& task, timestamp now);
    void ended(const task_record& task, const destination_report& report, timestamp now);

    std::vector<destination_record> records(std::size_t limit, timestamp now) const;
    void purge(timestamp now);

    void disable(const task_record& task, const settlement& ended, timestamp now);
    std::vector<endpoint_record> disabled() const;
    bool enable(const std::string& kind, const std::string& endpoint);

private:
    struct destination {
        destination_state state;
        std::uint64_t tasks = 0;
        std::uint64_t due = 0;
    };
    using name = std::pair<std::string, std::string>;  // kind and name

    const destination_limits& limits_of(const std::string& kind) const;
    // Of a copy, for questions.
    template <class Ask>
    auto ask(const task_record& task, Ask question) const;

    std::map<std::string, destination_limits> limits_;
    std::map<name, destination> destinations_;
    std::map<name, endpoint_record> disabled_;
};

}  // namespace weir::service::detail
