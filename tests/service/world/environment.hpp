// SPDX-License-Identifier: MIT
// What all parts of a world share: its plan, its judge, its store and its weather.
#pragma once

#include "base/wall_time.hpp"
#include "forwarding_store.hpp"
#include "judge.hpp"
#include "plan.hpp"

#include <weir/handle.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/spawn.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace weir::service::testing {

// A store with a clock of its own, as databases have: the calendars of nodes do not count.
class database_clock final : public forwarding_store {
public:
    using forwarding_store::forwarding_store;

    task<heartbeat_answer> heartbeat(node_record node, moment now) override {
        const timestamp here = weir::detail::wall_time();
        node.expires_at += here - now.steady;
        node.clock_offset = std::chrono::floor<std::chrono::microseconds>(
            here.time_since_epoch() - weir::now().time_since_epoch());
        return target().heartbeat(std::move(node), here);
    }
    // Not before the slot has come, and not for a node whose calendar is ahead: it would pass over
    // slots.
    task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                            timestamp next_slot, std::optional<new_task> task,
                                            moment now) override {
        const timestamp here = weir::detail::wall_time();
        return slot > here || now.at > here + max_ahead
                   ? none()
                   : target().fire(name, slot, next_slot, std::move(task), here);
    }

private:
    static constexpr std::chrono::seconds max_ahead = 3s;

    moment at(moment) const override { return weir::detail::wall_time(); }
    static task<std::optional<submit_result>> none() { co_return std::nullopt; }
};

struct environment {
    explicit environment(const plan& how)
        : settings(how),
          is_cluster(dice(how.seed).one_in(2)),
          referee(how.kept, is_cluster),
          random(how.seed) {}

    // Runs until the end of the world, which waits for it.
    void run_aside(task<> work) {
        std::erase_if(aside, [](const handle<>& each) { return each.done(); });
        aside.push_back(weir::spawn(std::move(work)));
    }
    // The order in which nodes have registered. Their names differ from run to run.
    std::size_t number_of(const std::string& node) {
        return node_numbers.emplace(node, node_numbers.size()).first->second;
    }

    const plan settings;
    const bool is_cluster;  // on several machines; else all nodes have one calendar
    judge referee;
    dice random;
    memory_store kept{};
    store* reached = nullptr;  // what the calls of nodes reach: the above, perhaps with a clock
    bool is_calm = false;      // no faults any more
    bool is_away = false;      // the store, for all
    std::chrono::microseconds calendar_ahead{0};  // of one machine
    std::size_t processes = 0;
    std::uint64_t calls = 0;
    std::map<std::string, std::size_t> node_numbers;
    std::vector<handle<>> aside;
};

}  // namespace weir::service::testing
