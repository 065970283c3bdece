// SPDX-License-Identifier: MIT
// The source of random numbers for jitter.
#pragma once

#include <weir/base/random.hpp>

namespace weir::decision {

using random_source = weir::detail::random_source;

}  // namespace weir::decision
