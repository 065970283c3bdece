// SPDX-License-Identifier: MIT
// Leases of nodes, and the tasks of nodes that have lost theirs.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/submit.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// The node's number. With `alive_at`, on the steady clock: only if its lease is valid then.
std::optional<std::int64_t> node_number(sql_session& session, std::string_view node,
                                        std::optional<timestamp> alive_at = {});

// The same in two steps, for callers that ask for more meanwhile.
std::unique_ptr<sql_answer> ask_node(sql_session& session, std::string_view node);
std::optional<std::int64_t> node_number(const sqlite::rows& found,
                                        std::optional<timestamp> alive_at = {});

// The runs of a node.
std::vector<run_key> runs_on(sql_session& session, std::string_view node);

// The nodes that have a lease, or had one that has passed and not ended yet.
std::vector<node_record> read_nodes(sql_session& session);

// Registers the node, or renews its lease if that is still valid. `now` is on the steady clock. A
// new node joins the steady clock of the other nodes of its host.
heartbeat_answer renew_lease(sql_session& session, const node_record& node, timestamp now);

// The runs of a node that it is to stop. Reads the tasks, on which another program may hold a lock:
// so it does not belong into the transaction that renews the lease.
std::vector<run_key> runs_to_cancel(sql_session& session, std::string_view node);

void end_lease(sql_session& session, std::string_view node);

struct rescue_batch {
    rescue_result result;
    bool is_last = true;  // no node is left whose lease has ended
};
// Rescues at most `limit` tasks, of one node.
rescue_batch rescue_tasks(sql_session& session, moment now, std::uint32_t max_crashes,
                          std::size_t limit, event_list& events, id_source& ids,
                          std::size_t max_queues);

}  // namespace weir::service::detail
