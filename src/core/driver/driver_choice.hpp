// SPDX-License-Identifier: MIT
// From loop_options::driver to a driver.
#pragma once

#include <weir/driver.hpp>
#include <weir/loop.hpp>

#include <memory>

namespace weir::detail {

// Throws loop_error if the driver is not available.
std::unique_ptr<driver> make_driver(driver_kind kind);

}  // namespace weir::detail
