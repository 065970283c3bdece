// SPDX-License-Identifier: MIT
// The io_uring driver. A loop gets one by its options (driver_kind::uring), or by default where the
// kernel allows it; this header is for programs that make a driver themselves, or ask whether
// io_uring can be used here.
#pragma once

#include <weir/driver.hpp>

#include <memory>

namespace weir::io {

// Null if the kernel has no io_uring of the kind that Weir needs (Linux 6.1), if it forbids its
// use, or if Weir was built without liburing.
std::unique_ptr<driver> make_uring_driver();

}  // namespace weir::io
