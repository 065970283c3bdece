// SPDX-License-Identifier: MIT
// Names of queues, checked before a request that would create the queue or find nothing in it.
#pragma once

#include "program/tasks/remote.hpp"

#include <weir/task.hpp>

#include <string>

namespace weir::program {

// Empty if the service has this queue; otherwise a message with the nearest name, or all names.
task<std::string> unknown_queue(remote& service, std::string name);

// Throws remote_error with that message: the service would create a queue that it does not have.
task<> require_queue(remote& service, std::string name);

}  // namespace weir::program
