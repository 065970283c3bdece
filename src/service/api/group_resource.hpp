// SPDX-License-Identifier: MIT
// /groups: create, list, find, add members, seal and cancel groups of tasks; and workflows that
// come as a batch of tasks.
#pragma once

#include "service/api/json/workflow_json.hpp"
#include "service/api/route.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>
#include <weir/service/workflow_desk.hpp>

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::service::detail {

class group_resource {
public:
    group_resource(service& tasks, const api_options& options) noexcept
        : tasks_(tasks), max_body_(options.max_body), max_page_(options.max_page) {}

    route_list routes();
    // The body of POST /tasks/batch, if is_workflow(). Both must outlive the answer.
    answer submit_batch(http::request& request, const boost::json::value& body,
                        std::string_view raw);
    // Throws 422 unless the token may see the known tasks that this one comes after.
    task<> check_parents(const new_task& task, std::shared_ptr<const token_grant> grant);

private:
    answer create(http::request& request);
    answer list(http::request& request);
    answer find(http::request& request);
    answer add(http::request& request);
    answer members(http::request& request);
    answer seal(http::request& request);
    answer cancel(http::request& request);

    // The group of the path, if the token has the permission in its queue.
    task<group_record> checked_group(http::request& request, permission what);
    task<workflow_result> submit(workflow flow, http::request& request);
    answer created(const workflow_result& made, const named_tasks& known, bool is_batch);

    service& tasks_;
    std::uint64_t max_body_;
    std::size_t max_page_;
};

}  // namespace weir::service::detail
