// SPDX-License-Identifier: MIT
// ledger: the queues, flows, branches and destinations that one transaction touches, with their
// counts. Each is read once, changed in memory and written once.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/branch_rows.hpp"
#include "service/store/sqlite/rows/queue_rows.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace weir::service::detail {

// How a task is counted.
struct standing {
    task_state state{};
    bool is_due = false;  // only if pending
};

// The rows that count a task.
struct task_place {
    queue_row& queue;
    flow_row& flow;
    branch_row* branch;  // null: the task has no destination and no pool
};

// Whether max_queues allows this queue, which does not exist.
bool has_room_for_queue(sql_session& session, std::string_view name, std::size_t max_queues);

class ledger {
public:
    ledger(sql_session& session, moment now) : session_(session), now_(now) {}
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    // References stay valid. A row that does not exist is created if it is given by name or key.
    queue_row& queue(std::int64_t id);
    queue_row* queue(std::string_view name, std::size_t max_queues);  // null: one too many
    flow_row& flow(std::int64_t id);
    flow_row& flow(queue_row& queue, std::string_view key);
    branch_row& branch(std::int64_t id);
    branch_row& branch(const flow_row& flow, const destination_row& destination);
    destination_row& destination(std::int64_t id);
    destination_row& destination(std::string_view kind, std::string_view name);
    destination_row& pool(std::string_view kind) { return destination(kind, {}); }
    // Null: no branch.
    task_place place(std::int64_t queue, std::int64_t flow, std::optional<std::int64_t> branch);
    // Rows that the caller has read. A row that the ledger has already stays as it is.
    queue_row& add(queue_row row);
    flow_row& add(flow_row row);
    branch_row& add(branch_row row);
    destination_row& add(destination_row row);

    // With its key, so that it is found by that, too.
    flow_row& add_by_key(flow_row row);
    bool has_queue(std::int64_t id) const noexcept;
    bool has_flow(std::int64_t id) const noexcept { return flows_by_id_.contains(id); }
    bool has_branch(std::int64_t id) const noexcept { return branches_by_id_.contains(id); }
    bool has_destination(std::int64_t id) const noexcept {
        return destinations_by_id_.contains(id);
    }

    void enters(const task_place& place, standing counted);
    // The same for a task whose place is known, so that the head of its line stays known.
    void enters(const task_place& place, standing counted, const place_in_line& at);
    void moves(const task_place& place, standing from, standing to);
    void moves(const task_place& place, standing from, standing to, const place_in_line& at);
    void leaves(const task_place& place, standing counted);
    // Offers the branches that the flow holds to workers, whose claims check it.
    void offer_held(flow_row& row);
    // Writes the rows that have changed.
    void close();

private:
    std::int64_t kind_id(std::string_view kind);
    void count(const task_place& place, standing counted, int change);
    static void keep_head(const task_place& place, const std::optional<place_in_line>& head,
                          const place_in_line& at);
    void settle_place(branch_row& row);
    void settle_offer(branch_row& row);
    void slow_held(const flow_row& row, std::int64_t free_at);
    void set_place(branch_row& row, branch_row::whereabouts next);
    std::int64_t first_turn(const flow_row& flow, const destination_row& destination);
    bool read_first(branch_row& row);
    void write(queue_row& row);
    void write(flow_row& row);
    void write(branch_row& row);
    void write(destination_row& row);

    sql_session& session_;
    moment now_;
    std::deque<queue_row> queues_;
    std::deque<flow_row> flows_;
    std::unordered_map<std::int64_t, flow_row*> flows_by_id_;
    std::unordered_map<std::string, flow_row*> flows_by_key_;
    std::deque<branch_row> branches_;
    std::unordered_map<std::int64_t, branch_row*> branches_by_id_;
    std::map<std::pair<std::int64_t, std::int64_t>, branch_row*> branches_by_destination_;
    std::deque<destination_row> destinations_;
    std::unordered_map<std::int64_t, destination_row*> destinations_by_id_;
    std::unordered_map<std::string, destination_row*> destinations_by_name_;
};

}  // namespace weir::service::detail
