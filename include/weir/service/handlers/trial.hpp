// SPDX-License-Identifier: MIT
// Two handlers for trying out the service.
#pragma once

#include <weir/service/job.hpp>
#include <weir/task.hpp>

namespace weir::service {

// 'echo': the result is the payload. {"fail": "message"} fails with that message.
weir::task<boost::json::value> echo(job& job);
// 'sleep': sleeps and reports progress; the payload is seconds, 2.5 or {"seconds": 2.5}.
weir::task<boost::json::value> sleep_handler(job& job);

}  // namespace weir::service
