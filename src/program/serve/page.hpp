// SPDX-License-Identifier: MIT
// The files of the dashboard that were built into the program.
#pragma once

#include <weir/http/assets.hpp>

#include <span>

namespace weir::program {

// Empty if the build had no esbuild or no dygraphs: the service then serves a page that says how to
// get it.
std::span<const http::asset> page();

}  // namespace weir::program
