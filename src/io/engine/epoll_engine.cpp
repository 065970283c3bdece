// SPDX-License-Identifier: MIT
// A descriptor is registered once, edge-triggered, and the descriptor object keeps the readiness
// that is known. So a wait costs no system call: an operation that would block is put into the
// descriptor's list and tried again when the driver reports a change (descriptor::fd_changed). A
// read that got less than it had room for has emptied the socket, and the next one waits without
// trying. Unix sockets are an exception: the system ends a read behind each message that carried
// descriptors.

#include "io/engine/epoll_engine.hpp"

#include "io/engine/uring_entries.hpp"

#include <weir/io/detail/io_operation.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace weir::io::detail {

namespace {

bool is_unix_socket(int fd) noexcept {
    int domain = 0;
    socklen_t size = sizeof domain;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

}  // namespace

int epoll_engine::bind(descriptor& fresh) noexcept {
    if (!fresh.is_nonblocking_) {
        const int flags = ::fcntl(fresh.fd_, F_GETFL);
        if (flags < 0 || ::fcntl(fresh.fd_, F_SETFL, flags | O_NONBLOCK) != 0) {
            return errno;
        }
        fresh.is_nonblocking_ = true;
    }
    std::fill(std::begin(fresh.may_be_ready_), std::end(fresh.may_be_ready_), true);
    fresh.may_hold_more_ = is_unix_socket(fresh.fd_);
    const int error = driver_.attach(fresh.fd_, fresh);
    fresh.is_attached_ = error == 0;
    if (error == EPERM) {  // a regular file: always ready
        fresh.may_hold_more_ = true;
        return 0;
    }
    return error;
}

void epoll_engine::unbind(descriptor& bound) noexcept {
    if (bound.is_attached_) {
        driver_.detach(bound.fd_, bound);
        bound.is_attached_ = false;
    }
}

bool epoll_engine::advance(descriptor& target, io_operation& tried) noexcept {
    constexpr int most_attempts = 4;
    bool& may_be_ready = target.may_be_ready(tried.awaited_);
    for (int attempts = 1; may_be_ready; ++attempts) {
        const int result = tried.try_once();
        if (result == -EAGAIN && tried.can_be_awaited()) {
            may_be_ready = false;
        } else if (result != -EINTR) {
            may_be_ready = target.may_hold_more_ || !tried.has_drained(result);
            if (tried.take(result)) {
                return true;
            }
            const bool is_large = result >= static_cast<int>(most_per_transfer);
            if (target.is_attached_ && (is_large || attempts == most_attempts)) {
                driver_.report_again(target.fd_, target);
                return false;
            }
        }
    }
    return false;
}

bool epoll_engine::start(io_operation& begun) noexcept {
    descriptor& target = *begun.descriptor_;
    operation_list& waiting = target.waiting(begun.awaited_);
    if (waiting.empty() && advance(target, begun)) {
        return false;
    }
    waiting.push_back(begun);
    return true;
}

bool epoll_engine::cancel(io_operation& pending) noexcept {
    pending.descriptor_->waiting(pending.awaited_).remove(pending);
    return true;
}

void epoll_engine::retry(descriptor& changed, io_event awaited) noexcept {
    changed.may_be_ready(awaited) = true;
    operation_list& waiting = changed.waiting(awaited);
    while (!waiting.empty()) {
        io_operation& first = waiting.front();
        if (!advance(changed, first)) {
            return;
        }
        first.finish();
    }
}

}  // namespace weir::io::detail
