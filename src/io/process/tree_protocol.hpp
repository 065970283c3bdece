// SPDX-License-Identifier: MIT
// How a program, its guard and the keepers of its trees talk to each other.
//
//   program ── control ──> guard ── fork ──> keeper ── fork ──> the contained program
//      └───────────── channel ──────────────────┘                 └── its descendants
//
// A tree is a contained program with all its descendants. The program sends the guard one message
// per tree: the descriptors below. It sends the keeper a tree_request with texts, then commands of
// one byte. The keeper sends tree_events. Both ends of the channel matter: if the program's end is
// closed, the keeper kills the tree; the other end is closed when nothing of the tree runs any
// more. The guard holds a duplicate of that other end, so this is true even if a keeper is killed.
#pragma once

#include <cstdint>

namespace weir::detail {

// Descriptors in the message to the guard, and from 3 on those of a keeper.
enum tree_descriptor : int { channel_fd, in_fd, out_fd, err_fd, directory_fd, tree_descriptors };

// Texts follow, each with a zero byte at its end: the directory (may be empty), the words of the
// command, the variables.
struct tree_request {
    std::uint32_t bytes;  // of the texts
    std::uint32_t words;
    std::uint32_t variables;
    std::uint32_t reserved;
    std::int64_t grace;  // ms
};

// Commands are signal numbers, for all processes of the tree, and this one: SIGTERM, then SIGKILL
// for those that still run after the grace period.
constexpr unsigned char terminate_command = 0;

struct tree_event {
    enum kind : std::int32_t {
        started,  // value: the process number of the program
        failed,   // to start; value: errno
        exited,   // value: the exit code
        killed,   // value: the signal
    };
    std::int32_t what;
    std::int32_t value;
};

// Runs the guard, in a process that has just been forked and has all signals blocked.
[[noreturn]] void run_guard(int control) noexcept;
// Runs a keeper, in a process that the guard has just forked. The descriptors are from 3 on.
[[noreturn]] void run_keeper() noexcept;

// Moves the descriptors to 3 and up, in this order, and closes all others except 0 to 2.
void keep_descriptors(const int* from, int count) noexcept;
// A descriptor that is readable when a child has ended. SIGCHLD is blocked.
int watch_children() noexcept;
void clear_child_watch(int fd) noexcept;

}  // namespace weir::detail
