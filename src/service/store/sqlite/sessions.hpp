// SPDX-License-Identifier: MIT
// session_writer: registers sessions of workers, renews their leases and ends them, within one
// transaction; and lists of sessions and of the kinds that they run.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/session_rows.hpp"
#include "service/store/sqlite/settle.hpp"
#include "service/store/sqlite/submit.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::service::detail {

class session_writer {
public:
    session_writer(sql_session& session, moment now, event_list& events, id_source& ids,
                   std::size_t max_queues)
        : session_(session), now_(now), events_(events), ids_(ids), max_queues_(max_queues) {}

    // See the store.
    bool add(const worker_record& worker);
    worker_answer renew(const worker_beat& beat);
    std::vector<settle_answer> settle(const std::string& worker, std::span<const settlement> ended);
    bool drain(const std::string& worker);
    bool remove(const std::string& worker);

private:
    struct run_row {
        run_key key;
        std::uint64_t poll = 0;
        bool is_cancelling = false;
        std::uint32_t failures = 0;
    };

    void add_kinds(const std::vector<std::string>& kinds);
    std::vector<run_row> read_runs_of(std::int64_t node);
    void give_back(const std::string& worker, std::int64_t node, std::span<const run_row> runs);
    settle_answer find_earlier_end(std::int64_t node, const settlement& ended);

    sql_session& session_;
    moment now_;
    event_list& events_;
    id_source& ids_;
    std::size_t max_queues_;
};

// Writes the progress of runs of a node.
void write_progress(sql_session& session, std::int64_t node, std::span<const progress_note> notes,
                    event_list& events);

// See store::runs_of_worker(), workers() and worker_kinds().
std::vector<std::optional<task_record>> find_runs(sql_session& session, const std::string& worker,
                                                  std::span<const run_key> runs);
std::vector<worker_status> list_workers(sql_session& session);
std::vector<worker_kind> list_worker_kinds(sql_session& session, timestamp now);
// Why no worker takes a task of this kind and queue; empty: one waits for it.
std::optional<hold::reason> find_worker_hold(sql_session& session, const std::string& kind,
                                             const std::string& queue, timestamp now);

}  // namespace weir::service::detail
