// SPDX-License-Identifier: MIT
// Checks the options of a service.
#pragma once

#include <weir/service/service.hpp>

namespace weir::service::detail {

// Returns its argument. Throws invalid_argument that names the option.
const service_options& checked_options(const service_options& options);

}  // namespace weir::service::detail
