// SPDX-License-Identifier: MIT
// /tasks: submit one or many, find, list, cancel, retry, remove, and say why a task does not run.
#pragma once

#include "service/api/route.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::service::detail {

class task_resource {
public:
    task_resource(service& tasks, const api_options& options);

    route_list routes();

private:
    answer submit(http::request& request);
    answer submit_batch(http::request& request);
    answer find(http::request& request);
    answer list(http::request& request);
    answer cancel(http::request& request);
    answer retry(http::request& request);
    answer remove(http::request& request);
    answer explain(http::request& request);

    service& tasks_;
    std::uint64_t max_body_;
    std::size_t max_batch_;
    std::size_t max_page_;
};

}  // namespace weir::service::detail
