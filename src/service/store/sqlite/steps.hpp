// SPDX-License-Identifier: MIT
// The steps that handlers have kept.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/store.hpp>

#include <cstdint>
#include <vector>

namespace weir::service::detail {

// See store::keep_step().
step_answer keep_step(sql_session& session, std::int64_t node, const run_key& key,
                      const step_record& step);

// The steps of a task, as its row counts them: a task without steps costs no query.
void read_steps(sql_session& session, task_record& of);

void forget_steps(sql_session& session, std::int64_t task);

}  // namespace weir::service::detail
