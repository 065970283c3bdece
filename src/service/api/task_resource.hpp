// SPDX-License-Identifier: MIT
// /tasks: submit one or many, find, wait for an end, list, change, cancel, retry, remove, and say
// why one does not run.
#pragma once

#include "service/api/end_waiters.hpp"
#include "service/api/group_resource.hpp"
#include "service/api/route.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir::service::detail {

class task_resource {
public:
    task_resource(service& tasks, end_waiters& ends, group_resource& groups,
                  const api_options& options);

    route_list routes();

private:
    answer submit(http::request& request);
    answer submit_batch(http::request& request);
    answer find(http::request& request);
    answer list(http::request& request);
    answer cancel(http::request& request);
    answer retry(http::request& request);
    answer remove(http::request& request);
    answer edit(http::request& request);
    answer explain(http::request& request);

    task<task_page> list_in(const queue_patterns& queues, task_filter filter);
    // The task that a submit has found in place of a new one is in a queue that the token may not
    // see: unique keys are those of all queues.
    task<bool> is_hidden(const submit_result& found, std::shared_ptr<const token_grant> grant);
    // The task when it has ended, or after that time.
    task<std::optional<task_detail>> find_ended(task_id id, clock::duration limit);

    service& tasks_;
    end_waiters& ends_;
    group_resource& groups_;
    std::uint64_t max_body_;
    std::size_t max_batch_;
    std::size_t max_page_;
};

}  // namespace weir::service::detail
