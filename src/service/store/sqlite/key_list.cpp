// SPDX-License-Identifier: MIT
// A flow has its settings in its row, and a row with settings stays without tasks. Pending tasks of
// a flow are not counted in the tables: a list counts those that wait for their time, in the lines
// of the queue, unless they are too many.

#include "service/store/sqlite/key_list.hpp"

#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/store_texts.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>

namespace weir::service::detail {

namespace {

constexpr std::uint64_t max_counted = 20'000;  // tasks that wait for their time

// By flow. Empty: too many.
std::optional<std::unordered_map<std::int64_t, std::uint64_t>> count_waiting(
    sql_session& session, const queue_row& queue) {
    if (queue.queue_record::count(task_state::pending) - queue.due > max_counted) {
        return std::nullopt;
    }
    std::unordered_map<std::int64_t, std::uint64_t> waiting;
    const sqlite::rows found =
        session.query("SELECT flow, count(*) FROM tasks WHERE line IN (?, ?) GROUP BY flow",
                      later_line(queue.id), backoff_line(queue.id));
    for (const sqlite::row each : found) {
        waiting[each.get<std::int64_t>(0)] = each.get<std::uint64_t>(1);
    }
    return waiting;
}

}  // namespace

std::vector<key_record> list_keys(sql_session& session, std::string_view queue,
                                  const key_query& query) {
    static const std::string find_queue =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE name = ?";
    static const std::string begin =
        "SELECT " + std::string(flow_columns) + " FROM flows WHERE queue = ? AND key > ?";
    static const std::string all = begin + " ORDER BY key LIMIT ?";
    static const std::string one = begin + " AND key = ? ORDER BY key LIMIT ?";
    static const std::string only_set = begin + " AND has_settings = 1 ORDER BY key LIMIT ?";
    std::vector<key_record> keys;
    const sqlite::rows owner = session.query(find_queue, queue);
    if (owner.empty()) {
        return keys;
    }
    const queue_row row = read_queue(owner[0]);
    const auto waiting = count_waiting(session, row);
    const sqlite::rows found =
        query.only.empty()
            ? session.query(query.is_only_set ? only_set : all, row.id, query.after, query.limit)
            : session.query(one, row.id, query.after, query.only, query.limit);
    for (const sqlite::row each : found) {
        const flow_row flow = read_flow(each);
        key_record& added = keys.emplace_back();
        added.key = flow.key;
        added.settings = flow.own;
        added.running = static_cast<std::uint64_t>(flow.running);
        added.due =
            static_cast<std::uint64_t>(flow.due) +
            session.query("SELECT ifnull(sum(due), 0) FROM branches WHERE flow = ?", flow.id)
                .one<std::uint64_t>();
        if (waiting.has_value()) {
            const auto later = waiting->find(flow.id);
            added.pending = added.due + (later != waiting->end() ? later->second : 0);
        }
    }
    return keys;
}

key_settings change_key(sql_session& session, std::string_view queue, std::string_view key,
                        const key_change& change, moment now, std::size_t max_queues) {
    ledger books(session, now);
    queue_row* const in = books.queue(queue, max_queues);
    if (in == nullptr) {
        throw_too_many_queues(queue, max_queues);
    }
    flow_row& flow = books.flow(*in, key);
    const bool had_settings = flow.own != key_settings();
    flow.own = change.applied_to(flow.own);
    const bool has_settings = flow.own != key_settings();
    if (has_settings && !had_settings && in->keys_set >= max_keys_with_settings) {
        throw_too_many_keys(queue);
    }
    session.execute(
        "UPDATE flows SET is_paused = ?, own_max_running = ?, own_rate = ?, own_burst = ?, "
        "has_settings = ? WHERE id = ?",
        flow.own.is_paused, flow.own.max_running, flow.own.rate, flow.own.burst, has_settings,
        flow.id);
    session.execute("UPDATE queues SET keys_set = keys_set + ? WHERE id = ?",
                    (has_settings ? 1 : 0) - (had_settings ? 1 : 0), in->id);
    in->is_changed = true;  // it was used now
    flow.is_changed = true;
    if (flow.held_branches > 0) {
        books.offer_held(flow);
    }
    books.close();
    return flow.own;
}

}  // namespace weir::service::detail
