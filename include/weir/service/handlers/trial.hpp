// SPDX-License-Identifier: MIT
// Two handlers for trying things out.
#pragma once

#include <weir/service/job.hpp>
#include <weir/task.hpp>

namespace weir::service {

// 'echo': the result is the payload. {"fail": "words"} fails with these words.
weir::task<boost::json::value> echo(job& what);
// 'sleep': for so many seconds, with progress: the payload is a number, or {"seconds": 2.5}.
weir::task<boost::json::value> sleep_handler(job& what);

}  // namespace weir::service
