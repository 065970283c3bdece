// SPDX-License-Identifier: MIT
// Lets `weir ps <pid>` see the tasks of this program: what runs, and where each waits.
//
//     group.spawn(weir::io::serve_inspection());
//
// Whoever connects to a socket in a folder that only this user can open is sent the tree of tasks
// of the loop that this runs on, as dump_tasks() has it, and the connection is closed.
#pragma once

#include <weir/task.hpp>

#include <string>

namespace weir::io {

// Where the socket of a process of this user is: in $XDG_RUNTIME_DIR/weir, or /tmp/weir-<user
// number>.
std::string inspection_path(int pid);

// Until stopped; the socket is removed then. Throws io_error if it cannot be made, or if somebody
// else owns the folder.
task<> serve_inspection();

// What a process has to say: one of this user, or, for root, of any, also with a /tmp of its own.
// Throws io_error if it serves no inspection, or there is none.
task<std::string> inspect(int pid);

}  // namespace weir::io
