// SPDX-License-Identifier: MIT
// priority: who goes first where calls have to wait, and who must go when there is no more room to
// wait.
#pragma once

namespace weir {

enum class priority : unsigned char { low, normal, high, critical };

}  // namespace weir
