// SPDX-License-Identifier: MIT
// /operations: start, list, find and stop changes of all tasks that match a filter.
#pragma once

#include "service/api/route.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <cstdint>

namespace weir::service::detail {

class operation_resource {
public:
    operation_resource(service& tasks, const api_options& options) noexcept
        : tasks_(tasks), max_body_(options.max_body) {}

    route_list routes();

private:
    answer start(http::request& request);
    answer list(http::request& request);
    answer find(http::request& request);
    answer stop(http::request& request);

    service& tasks_;
    std::uint64_t max_body_;
};

}  // namespace weir::service::detail
