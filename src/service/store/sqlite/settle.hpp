// SPDX-License-Identifier: MIT
// settlement_writer: writes how runs of one node have ended, within one transaction.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/sqlite/task_ends.hpp"

#include <weir/service/store.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace weir::service::detail {

class settlement_writer {
public:
    settlement_writer(sql_session& session, std::string_view node, std::int64_t node_number,
                      moment now, event_list& events, id_source& task_ids, std::size_t max_queues)
        : session_(session),
          node_(node),
          node_number_(node_number),
          now_(now),
          events_(events),
          books_(session, now),
          ends_(session, books_, task_ids, events, now, max_queues) {}
    // False: the node does not run this any more, and nothing was written.
    bool write(const settlement& ended);
    // The same for many.
    std::vector<bool> write_all(std::span<const settlement> all);
    // Writes the counts; the last call.
    void close() {
        ends_.close();
        books_.close();
    }

private:
    using settlements = std::vector<const settlement*>;
    using ids = std::unordered_set<std::int64_t>;

    // Those of one state, or of any, which differ in their tasks. Both add the tasks that were
    // written.
    void write_ended(const settlements& all, ids& written);
    void write_unended(const settlements& all, ids& written);
    std::unique_ptr<sql_changes> start_ending(std::span<const settlement* const> all);
    void read_places(std::span<const sqlite::row> tasks);
    void note(const settlement& ended, task_state state, const sqlite::row& row);
    void add_event(const settlement& ended, task_state state, const task_place& place,
                   const sqlite::row& row);
    task_place assign_branch(const settlement& ended, const task_place& place,
                             std::string_view kind);
    void cancel(const settlement& ended);
    void write_pending(const settlement& ended, line_position position);

    sql_session& session_;
    std::string_view node_;
    std::int64_t node_number_;
    moment now_;
    event_list& events_;
    ledger books_;
    task_ends ends_;
};

}  // namespace weir::service::detail
