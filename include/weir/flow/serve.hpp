// SPDX-License-Identifier: MIT
// serve: who of those who wait goes next.
//
// Oldest first is fair. Newest first is for overload, where whoever has waited long has mostly
// given up: those who have just come are answered in time, and the others wait until there is a
// lull. The newest does not wait behind anybody; those whom it overtakes are refused when their
// max_wait is over.
#pragma once

namespace weir {

enum class serve : unsigned char { oldest_first, newest_first };

}  // namespace weir
