// SPDX-License-Identifier: MIT
// The files of the dashboard, where it was built in.
#pragma once

#include <weir/http/assets.hpp>

#include <span>

namespace weir::program {

// Empty without npm: the service then says how to get it.
std::span<const http::asset> page();

}  // namespace weir::program
