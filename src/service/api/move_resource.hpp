// SPDX-License-Identifier: MIT
// /move: the service moves its store to another database while it runs.
#pragma once

#include "service/api/route.hpp"

#include <weir/service/api.hpp>

#include <cstdint>

namespace weir::service::detail {

class move_resource {
public:
    explicit move_resource(const api_options& options) noexcept
        : mover_(options.mover), max_body_(options.max_body) {}

    route_list routes();

private:
    answer show(http::request& request);
    answer begin(http::request& request);
    answer check(http::request& request);
    answer abort(http::request& request);
    store_mover& mover() const;

    store_mover* mover_;
    std::uint64_t max_body_;
};

}  // namespace weir::service::detail
