// SPDX-License-Identifier: MIT
// What `weir serve` runs, and `weir serve --check` makes to see whether it could.
#pragma once

#include "settings.hpp"

#include <weir/http/router.hpp>
#include <weir/io/listener.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/service/service.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace weir::program {

// All but the store and the door. Throws invalid_argument for options that are wrong.
class whole_service {
public:
    whole_service(service::store& kept, const serve_plan& plan);
    http::router api(const serve_plan& plan);

    service::service tasks;

private:
    service::http_delivery delivery_;
};

std::vector<std::string_view> views_of(const std::vector<std::string>& texts);

// Throws io_error that says what to do.
io::listener listen_at(const io::address& at);

// Why a program could not be run; empty if it could.
std::string trouble_with_program(const std::string& program);

}  // namespace weir::program
