// SPDX-License-Identifier: MIT
// Messages of channels and patterns, on a connection of their own.
#pragma once

#include "db/redis/endpoint.hpp"

#include <weir/db/redis/client.hpp>
#include <weir/db/redis/message.hpp>
#include <weir/generator.hpp>

#include <string>
#include <vector>

namespace weir::redis::detail {

// See client::subscribe.
generator<message> subscribe(endpoint server, client_options options,
                             std::vector<std::string> channels, std::vector<std::string> patterns);

}  // namespace weir::redis::detail
