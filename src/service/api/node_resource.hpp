// SPDX-License-Identifier: MIT
// /nodes: the processes that run tasks.
#pragma once

#include "service/api/route.hpp"

#include <weir/service/service.hpp>

namespace weir::service::detail {

class node_resource {
public:
    explicit node_resource(service& tasks) noexcept : tasks_(tasks) {}

    route_list routes();

private:
    answer list(http::request& request);

    service& tasks_;
};

}  // namespace weir::service::detail
