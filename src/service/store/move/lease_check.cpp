// SPDX-License-Identifier: MIT
// A node whose process is known to have ended serves nothing, however long its lease is.

#include "service/store/move/lease_check.hpp"

#include "service/engine/node_identity.hpp"
#include "service/store/sqlite/rows/ledger.hpp"

#include <weir/loop.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace weir::service::detail {

namespace {

// Without sessions of workers.
std::vector<node_record> read_processes(sql_session& session) {
    std::vector<node_record> all;
    for (const sqlite::row each : session.query(
             "SELECT id, host, pid, expires_at, clock_offset FROM nodes WHERE is_gone = 0 AND "
             "number NOT IN (SELECT node FROM workers)")) {
        node_record& node = all.emplace_back();
        node.id = each.get<std::string>(0);
        node.host = each.get<std::string>(1);
        node.pid = each.get<std::int64_t>(2);
        node.expires_at = time_of(each.get<std::int64_t>(3));
        node.clock_offset =
            std::chrono::microseconds(each.get<std::optional<std::int64_t>>(4).value_or(0));
    }
    return all;
}

bool is_this_process(const node_record& node) {
    return node.host == this_host() && node.pid == this_process();
}

// How much longer the lease of a node lasts; its process may have ended all the same.
std::chrono::microseconds lease_left(sql_session& session, const node_record& node,
                                     timestamp loop_time) {
    if (const std::optional<timestamp> server = session.server_time()) {
        return node.expires_at - *server;
    }
    if (node.host == this_host()) {
        return node.expires_at - (loop_time + node.clock_offset);
    }
    // A former boot, whose steady clock was close to the calendar.
    return node.expires_at - std::chrono::time_point_cast<std::chrono::microseconds>(
                                 std::chrono::system_clock::now());
}

}  // namespace

timestamp loop_timestamp() {
    return timestamp(
        std::chrono::duration_cast<std::chrono::microseconds>(now().time_since_epoch()));
}

void check_is_unserved(sql_session& session, timestamp loop_time, bool ignores_itself) {
    for (const node_record& node : read_processes(session)) {
        if (ignores_itself && is_this_process(node)) {
            continue;
        }
        const std::chrono::microseconds left = lease_left(session, node, loop_time);
        if (left.count() > 0 && !is_gone(node)) {
            throw store_unavailable(std::string(ignores_itself ? "another" : "a") +
                                        " service runs on the store, with process " +
                                        std::to_string(node.pid) + " on " +
                                        node.host.substr(0, node.host.find(' ')) +
                                        ": stop it first; if it has crashed, its lease ends in " +
                                        std::to_string(left.count() / 1'000'000 + 1) + " s",
                                    db::retry_advice::no);
        }
    }
}

std::optional<timestamp> steady_time_of_node(sql_session& session, timestamp loop_time) {
    std::optional<timestamp> time;
    for (const node_record& node : read_processes(session)) {
        if (is_this_process(node) && node.expires_at > loop_time + node.clock_offset) {
            time = loop_time + node.clock_offset;
        }
    }
    return time;
}

}  // namespace weir::service::detail
