// SPDX-License-Identifier: MIT
// priority: which waiting call goes first, and which one is refused when the line is full.
#pragma once

namespace weir {

enum class priority : unsigned char { low, normal, high, critical };

}  // namespace weir
