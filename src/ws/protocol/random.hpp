// SPDX-License-Identifier: MIT
// Unpredictable bytes from the kernel, for the keys and masks of clients.
#pragma once

#include <weir/io/buffer.hpp>

namespace weir::ws::detail {

// Cheap for a few bytes: they come from a store that each thread fills with one system call.
void fill_random(io::bytes into);

}  // namespace weir::ws::detail
