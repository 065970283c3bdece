// SPDX-License-Identifier: MIT
// /queues: show, limit, pause, resume, redrive.
#pragma once

#include "service/api/route.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>
#include <weir/sync/mutex.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace weir::service::detail {

class queue_resource {
public:
    queue_resource(service& tasks, const api_options& options);

    route_list routes();

private:
    answer list(http::request& request);
    answer find(http::request& request);
    answer limit(http::request& request);
    answer remove(http::request& request);
    answer pause(http::request& request);
    answer resume(http::request& request);
    answer redrive(http::request& request);

    answer set_paused(http::request& request, bool is_paused);
    task<std::optional<queue_record>> queue_named(std::string name);

    service& tasks_;
    std::uint64_t max_body_;
    mutex limits_change_;  // a change reads the limits that it is based on
};

}  // namespace weir::service::detail
