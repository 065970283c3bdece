// SPDX-License-Identifier: MIT
// The path decides what is checked, so that a new route below /queues/{name} or /tasks/{id} is
// guarded without code of its own.

#include "service/api/route_guard.hpp"

#include "service/api/json/json_read.hpp"

#include <weir/http/problem.hpp>

#include <optional>

namespace weir::service::detail {

namespace {

constexpr std::string_view queue_path = "/queues/{name}";
constexpr std::string_view task_path = "/tasks/{id}";

}  // namespace

task<> check_access(service& tasks, const route& matched, const http::request& request) {
    const std::shared_ptr<const token_grant> grant = grant_of(request);
    if (grant == nullptr || grant->rights.may_everywhere(matched.needs)) {
        co_return;
    }
    if (matched.in == queue_reach::all || !grant->rights.may_somewhere(matched.needs)) {
        throw_missing_scope(*grant, matched.needs, matched.in != queue_reach::all);
    }
    if (matched.pattern.starts_with(queue_path)) {
        require(grant, matched.needs, request.param("name"));
    } else if (matched.pattern.starts_with(task_path)) {
        const task_id id = read_task_id(request.param("id"));
        const std::optional<task_detail> found = co_await tasks.find(id);
        if (!found || !grant->rights.may(permission::status, found->task.queue)) {
            throw http::problem(http::status::not_found, "there is no task " + id.text());
        }
        require(grant, matched.needs, found->task.queue);
    }
}

void require_queues_of(const new_task& task, const std::shared_ptr<const token_grant>& grant,
                       permission what) {
    require(grant, what, task.queue);
    for (const callback* const each : {&task.on_success, &task.on_failure}) {
        if (!each->queue.empty()) {
            require(grant, what, each->queue);
        }
    }
}

}  // namespace weir::service::detail
