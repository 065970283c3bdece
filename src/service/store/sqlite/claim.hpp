// SPDX-License-Identifier: MIT
// claim_operation: one claim of a node, within one transaction.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/branch_walk.hpp"
#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/start.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace weir::service::detail {

class claim_operation {
public:
    // The request is referred to.
    claim_operation(sql_session& session, const claim_request& request, event_list& events)
        : session_(session),
          request_(request),
          events_(events),
          books_(session, request.now),
          starter_(session, books_, request.now),
          parking_(session, books_, request.now.steady) {}
    // Asks for what run() looks at first, if the caller can do so earlier. Nothing may change
    // queues in between.
    void look();
    claimed run(std::int64_t node);  // the number of its node
    // Tasks that it has found and not begun, since they have expired. They are to be ended.
    const std::vector<expired_task>& expired() const noexcept { return starter_.expired(); }

private:
    struct flow_turns {
        flow_row* row = nullptr;
        std::uint64_t room = 0;           // how many more tasks its limits allow
        std::vector<std::size_t> turns;   // positions in the result, of tasks to be fetched
        std::optional<branch_walk> walk;  // if it has ready branches
        std::uint64_t taken = 0;          // from the walk
        std::uint64_t not_started = 0;    // of those that were fetched
        place_in_line next;               // where the next ones are fetched from
        std::size_t asked = 0;            // tasks of the turns, by now
    };
    struct queue_turns {
        queue_row* row = nullptr;
        std::uint64_t room = 0;
        std::vector<flow_turns> flows;
        std::size_t next_flow = 0;
    };

    void read_queues();
    void find_candidates();
    void find_flows(queue_turns& queue);
    bool add_flow(queue_turns& queue, flow_row& flow);
    void free_slowed(const queue_row& queue);
    void give_turns();
    bool give_turn(queue_turns& queue);
    bool give_turn(queue_turns& queue, flow_turns& flow);
    struct fetch_turn {
        queue_turns* queue = nullptr;
        flow_turns* flow = nullptr;
    };
    // Tasks of some flows that are being fetched.
    struct fetch_part {
        struct share {
            fetch_turn from;
            std::size_t count = 0;
        };
        std::vector<share> shares;
        std::unique_ptr<sql_group_answer> answer;
    };

    void fetch();
    void fetch(std::vector<fetch_turn> wanted);
    fetch_part ask(std::span<const fetch_turn>& wanted);
    void note_places(const fetch_part& part, const sql_groups& found);
    void start(const fetch_part& part, const sql_groups& found);
    void take_rates(queue_turns& queue, flow_turns& flow);
    // False: it must not run.
    bool start(const sqlite::row& row, std::size_t turn, const task_place& place);
    std::optional<timestamp> next_at();
    std::optional<timestamp> next_at(queue_row& queue);

    sql_session& session_;
    const claim_request& request_;
    std::int64_t node_ = 0;
    event_list& events_;
    ledger books_;
    task_starter starter_;
    branch_parking parking_;
    std::unique_ptr<sql_answer> queues_asked_;
    std::unique_ptr<sql_answer> turn_asked_;
    std::vector<queue_row*> queues_;
    std::vector<queue_turns> candidates_;
    std::int64_t last_turn_ = 0;
    std::size_t given_ = 0;
    bool has_more_to_move_ = false;
    claimed result_;
};

}  // namespace weir::service::detail
