// SPDX-License-Identifier: MIT
// worker_claim_operation: claims for polls of sessions of workers, within one transaction.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/session_rows.hpp"
#include "service/store/sqlite/start.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir::service::detail {

class worker_claim_operation {
public:
    worker_claim_operation(sql_session& session, moment now, event_list& events)
        : session_(session),
          now_(now),
          events_(events),
          books_(session, now),
          starter_(session, books_, now) {}
    worker_claims run(std::span<const worker_claim> polls);
    // Tasks that it has found and not begun, since they have expired. They are to be ended.
    const std::vector<expired_task>& expired() const noexcept { return starter_.expired(); }

private:
    // What a session asks for. Sessions with the same kinds and queues share it.
    struct scope {
        std::vector<std::int64_t> pools;
        std::vector<std::string> queues;  // empty: all
        bool is_exhausted = false;        // nothing is left that a poll could get now
    };
    struct flow_turns {
        flow_row* row = nullptr;
        std::vector<branch_row*> branches;  // of the pools that are asked for
        std::pair<std::int64_t, std::int64_t> order{0,
                                                    0};  // the oldest turn of these, and its branch
        std::uint64_t room = 0;                          // how many more tasks it may start
        std::vector<std::size_t> turns;                  // positions in the answer
    };
    struct queue_turns {
        queue_row* row = nullptr;
        std::int64_t last_turn = 0;  // the oldest of the pools that are asked for
        std::uint64_t room = 0;
        std::vector<flow_turns> flows;
        std::size_t next_flow = 0;
    };

    void read_queues();
    scope& scope_of(const session_row& worker);
    std::optional<std::int64_t> pool_of(const std::string& kind);
    worker_claim_answer answer(const worker_claim& poll);
    void claim(const worker_claim& poll, const session_row& worker, worker_claim_answer& answer);
    void offer_waiting(const scope& poll_scope);
    void offer_again(const sqlite::rows& branches);
    void find_candidates(const scope& poll_scope, std::size_t limit);
    void find_flows(const scope& poll_scope, queue_turns& queue, std::size_t limit);
    bool read_flows(const scope& poll_scope, queue_turns& queue, std::size_t wanted);
    void complete(const scope& poll_scope, flow_turns& flow);
    bool give_turn(queue_turns& queue, std::size_t turn);
    void fetch(const scope& poll_scope, queue_turns& queue, flow_turns& flow,
               const task_starter::runner& by, std::vector<task_record>& tasks);
    // False: it must not run.
    bool start(const sqlite::row& row, queue_turns& queue, flow_turns& flow, branch_row& from,
               const task_starter::runner& by, task_record& task);
    std::int64_t& turn_of(std::int64_t pool, std::int64_t queue);
    void write_turns();
    bool has_offers(const scope& poll_scope, std::int64_t queue);
    std::optional<timestamp> next_at(const scope& poll_scope);

    bool is_exhausted() const noexcept { return moved_ >= move_limit; }

    sql_session& session_;
    moment now_;
    event_list& events_;
    ledger books_;
    task_starter starter_;
    std::vector<queue_row*> queues_;
    std::map<std::string, std::optional<std::int64_t>> pools_;  // by kind
    std::map<std::string, scope> scopes_;                       // by kinds and queues
    std::set<scope*> unsatisfied_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> turns_;  // of pool and queue
    std::int64_t last_turn_ = 0;
    bool has_turns_ = false;
    std::vector<queue_turns> candidates_;
    std::size_t moved_ = 0;  // branches that were offered or held
};

}  // namespace weir::service::detail
