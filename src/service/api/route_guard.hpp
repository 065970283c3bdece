// SPDX-License-Identifier: MIT
// Checks the token of a request before its handler is called.
#pragma once

#include "service/api/route.hpp"

#include <weir/service/service.hpp>

#include <memory>

namespace weir::service::detail {

// Throws http::problem: 403 if the token lacks the scope of the route, or that of the queue or the
// task in its path; 404 for a task of a queue that the token may not see, as if there were none.
// Handlers check queues that are not in the path: in bodies, in queries and in lists.
task<> check_access(service& tasks, const route& matched, const http::request& request);

// Throws http::problem (403) unless the token has the permission in each queue that the task names:
// its own, and those of its callbacks.
void require_queues_of(const new_task& task, const std::shared_ptr<const token_grant>& grant,
                       permission what);

}  // namespace weir::service::detail
