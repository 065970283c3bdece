// SPDX-License-Identifier: MIT
// shutdown_mode: how a shutdown treats the work that was accepted before it.
#pragma once

namespace weir {

enum class shutdown_mode : unsigned char {
    drain,           // all accepted work is done
    finish_running,  // running work is finished; work that has not started is cancelled
    now,             // all work is cancelled; running work is awaited until its clean-up is done
};

}  // namespace weir
