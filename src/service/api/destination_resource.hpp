// SPDX-License-Identifier: MIT
// /destinations: what tasks talk to, and the endpoints that are disabled.
#pragma once

#include "service/api/route.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <cstdint>

namespace weir::service::detail {

class destination_resource {
public:
    destination_resource(service& tasks, const api_options& options) noexcept
        : tasks_(tasks), max_body_(options.max_body) {}

    route_list routes();

private:
    answer list(http::request& request);
    answer enable(http::request& request);

    service& tasks_;
    std::uint64_t max_body_;
};

}  // namespace weir::service::detail
