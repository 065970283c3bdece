// SPDX-License-Identifier: MIT
// /queues/{name}/keys: the flow keys of a queue, and the pause and limits of one.
#pragma once

#include "service/api/route.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <cstdint>
#include <string>

namespace weir::service::detail {

class key_resource {
public:
    key_resource(service& tasks, const api_options& options) noexcept
        : tasks_(tasks), max_body_(options.max_body) {}

    route_list routes();

private:
    answer list(http::request& request);
    answer find(http::request& request);
    answer change(http::request& request);
    answer reset(http::request& request);

    // Throws http::problem (404) if the queue does not exist.
    task<queue_record> queue_of(std::string name);
    // The key of the path as a response.
    answer show(std::string queue, std::string key);

    service& tasks_;
    std::uint64_t max_body_;
};

}  // namespace weir::service::detail
