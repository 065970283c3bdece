// SPDX-License-Identifier: MIT
// The keeper reports the start and the end of the program. The end of the channel is the end of the
// tree: only then has the child ended. The keeper keeps the grace period.

#include "io/process/tree_child.hpp"

#include "io/process/tree_protocol.hpp"

#include <weir/io/error.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

namespace weir::detail {

// Reads all events. A keeper sends each in one piece, of a few bytes.
bool tree_child::reap() {
    while (!has_ended_) {
        tree_event event{};
        const ssize_t size = ::recv(watched_.fd(), &event, sizeof event, MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0 && errno == EAGAIN) {
            return false;
        }
        if (size != sizeof event) {
            has_ended_ = true;
            if (!has_status_) {  // its keeper was killed, and the guard has killed the tree
                status_ = exit_status::killed(SIGKILL);
            }
            if (pid_ == 0 && start_error_ == 0) {
                start_error_ = EAGAIN;
            }
            break;
        }
        switch (event.what) {
            case tree_event::started:
                pid_ = event.value;
                break;
            case tree_event::failed:
                start_error_ = event.value;
                break;
            case tree_event::exited:
                status_ = exit_status::exited(event.value);
                has_status_ = true;
                break;
            default:
                status_ = exit_status::killed(event.value);
                has_status_ = true;
                break;
        }
    }
    return true;
}

bool tree_child::is_loaded() {
    reap();
    if (start_error_ != 0) {
        throw io_error(start_error_, attempt_);
    }
    return pid_ != 0;
}

task<void> tree_child::loaded() {
    for (bool is_done = is_loaded(); !is_done; is_done = is_loaded()) {
        co_await await_news();
    }
}

void tree_child::load_blocking() {
    while (!is_loaded()) {
        pollfd state{watched_.fd(), POLLIN, 0};
        ::poll(&state, 1, -1);
    }
}

bool tree_child::send(unsigned char command) noexcept {
    return !has_ended_ && ::send(watched_.fd(), &command, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

bool tree_child::kill(int signal) noexcept {
    return send(static_cast<unsigned char>(signal));
}

task<void> tree_child::end() {
    send(terminate_command);
    co_await await_end();
}

}  // namespace weir::detail
