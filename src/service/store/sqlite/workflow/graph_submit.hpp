// SPDX-License-Identifier: MIT
// graph_submit: creates the tasks of a workflow with their dependencies and their group, within one
// transaction.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/submit.hpp"
#include "service/store/sqlite/task_ends.hpp"

#include <weir/service/workflow.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::service::detail {

// A task of the workflow was refused: the transaction has to be undone.
struct refused_graph {
    workflow_result result;
};

class graph_submit {
public:
    graph_submit(sql_session& session, moment now, event_list& events, id_source& ids,
                 std::size_t max_queues)
        : session_(session),
          now_(now),
          books_(session, now),
          tasks_(session, books_, ids, events, now, max_queues),
          ends_(session, books_, ids, events, now, max_queues) {}

    // Throws refused_graph.
    workflow_result run(const workflow& flow);

private:
    struct parent_edge {
        std::int64_t parent = 0;
        failure_policy policy{};
        dependency_outcome outcome{};
        bool gives_payload = false;
    };

    // False: the result says why not.
    bool find_group(const workflow& flow);
    bool is_running_member(const run_key& run);
    void add(const new_task& task);
    std::vector<parent_edge> parents_of(const new_task& task);
    dependency_outcome outcome_of_task(std::int64_t id);
    void write_edges(std::int64_t child, const std::vector<parent_edge>& parents);

    sql_session& session_;
    moment now_;
    ledger books_;
    submitter tasks_;
    task_ends ends_;
    workflow_result result_;
    std::uint64_t members_ = 0;
};

}  // namespace weir::service::detail
