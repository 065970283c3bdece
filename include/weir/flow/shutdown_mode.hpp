// SPDX-License-Identifier: MIT
// shutdown_mode: what becomes of accepted work when no more is accepted.
#pragma once

namespace weir {

enum class shutdown_mode : unsigned char {
    drain,           // all of it is done
    finish_running,  // what runs is finished; what has not begun is cancelled
    now,             // everything is cancelled; what runs has the time its clean-up takes
};

}  // namespace weir
