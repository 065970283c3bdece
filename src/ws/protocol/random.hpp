// SPDX-License-Identifier: MIT
// Numbers that nobody can guess, from the kernel: for the keys of clients.
#pragma once

#include <weir/io/buffer.hpp>

namespace weir::ws::detail {

// Cheap for a few bytes: the kernel is asked for many at a time.
void fill_random(io::bytes into);

}  // namespace weir::ws::detail
