// SPDX-License-Identifier: MIT
// /workers: sessions of workers, their polls, heartbeats, results and steps. /claim and /handles:
// the same for one task, for shells. /kinds/{kind}: kinds that workers run.
#pragma once

#include "service/api/route.hpp"
#include "service/workers/worker_desk.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <cstdint>
#include <string>

namespace weir::service::detail {

class worker_resource {
public:
    worker_resource(service& tasks, const api_options& options);

    route_list routes();

private:
    answer add(http::request& request);
    answer list(http::request& request);
    answer poll(http::request& request);
    answer heartbeat(http::request& request);
    answer settle(http::request& request);
    answer keep_step(http::request& request);
    answer drain(http::request& request);
    answer remove(http::request& request);
    answer claim(http::request& request);
    answer use_handle(http::request& request);
    answer forget_kind(http::request& request);

    // The id in the path, if the token may act for that session. Throws http::problem: 403, and 410
    // for a session that is unknown.
    task<std::string> session_of(http::request& request);

    service& tasks_;
    worker_desk& desk_;
    const std::uint64_t max_body_;
};

}  // namespace weir::service::detail
