// SPDX-License-Identifier: MIT
// /schedules: show, put, remove, run, pause.
#pragma once

#include "service/api/route.hpp"

#include <weir/service/api.hpp>
#include <weir/service/service.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace weir::service::detail {

class schedule_resource {
public:
    schedule_resource(service& tasks, const api_options& options);

    route_list routes();

private:
    answer list(http::request& request);
    answer find(http::request& request);
    answer put(http::request& request);
    answer remove(http::request& request);
    answer run(http::request& request);
    answer pause(http::request& request);
    answer resume(http::request& request);

    answer set_paused(http::request& request, bool is_paused);
    task<std::optional<schedule_record>> schedule_named(std::string name);
    task<> check_change(const http::request& request, std::string name);

    service& tasks_;
    std::uint64_t max_body_;
};

}  // namespace weir::service::detail
