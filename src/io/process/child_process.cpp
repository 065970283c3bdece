// SPDX-License-Identifier: MIT
// Two tasks cannot wait for the same descriptor, so a second wait uses a duplicate; the first one
// needs none, and works even if no descriptors are left.

#include "io/process/child_process.hpp"

#include <weir/cancel.hpp>
#include <weir/fd.hpp>
#include <weir/finally.hpp>
#include <weir/io/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace weir::detail {

file_handle::~file_handle() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

const exit_status& child_process::status() const {
    if (is_lost_) {
        throw io_error(ECHILD, "wait for " + program_);
    }
    return status_;
}

task<void> child_process::await_news() {
    if (!is_watched_) {
        struct watch {
            explicit watch(bool& set) noexcept : is_on(set) { is_on = true; }
            watch(const watch&) = delete;
            watch& operator=(const watch&) = delete;
            ~watch() { is_on = false; }
            bool& is_on;
        };
        const watch own(is_watched_);
        co_await wait_readable(watched_.fd());
        co_return;
    }
    const file_handle own(::fcntl(watched_.fd(), F_DUPFD_CLOEXEC, 0));
    if (own.fd() < 0) {
        throw io_error(errno, "wait for " + program_);
    }
    co_await wait_readable(own.fd());
}

task<void> child_process::await_end() {
    while (!reap()) {
        co_await await_news();
    }
}

task<exit_status> child_process::wait(std::shared_ptr<child_process> self) {
    if (!self->reap()) {
        auto end_it = [&](ending result) -> task<> {
            if (result == ending::stopped) {
                co_await terminate(self);
            }
        };
        co_await finally(self->await_end(), end_it);
    }
    co_return self->status();
}

task<exit_status> child_process::terminate(std::shared_ptr<child_process> self) {
    if (self->needs_ending()) {
        co_await shield(self->end());
    }
    co_return self->status();
}

}  // namespace weir::detail
