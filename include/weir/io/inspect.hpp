// SPDX-License-Identifier: MIT
// Lets `weir ps <pid>` show the tasks of this program and where each waits.
//
//     group.spawn(weir::io::serve_inspection());
//
// A client that connects to a socket in a folder that only this user can open receives the tree of
// tasks of the loop that this runs on, as dump_tasks() prints it; then the connection is closed.
#pragma once

#include <weir/task.hpp>

#include <string>

namespace weir::io {

// Where the socket of a process of this user is: in $XDG_RUNTIME_DIR/weir, or /tmp/weir-<user
// number>.
std::string inspection_path(int pid);

// Runs until it is stopped, and then removes the socket. Throws io_error if the socket cannot be
// made, or if another user owns the folder.
task<> serve_inspection();

// The tree of tasks of a process of this user; for root, of any user, also with a /tmp of its own.
// Throws io_error if there is no such process, or if it serves no inspection.
task<std::string> inspect(int pid);

}  // namespace weir::io
