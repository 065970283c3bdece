// SPDX-License-Identifier: MIT
// An operation binds its descriptor to the loop's engine when it is the first one there, and then
// leaves everything to the engine.

#include <weir/error.hpp>
#include <weir/io/address.hpp>
#include <weir/io/detail/io_operation.hpp>
#include <weir/io/error.hpp>

#include <sys/socket.h>

#include <cerrno>

namespace weir::io::detail {

bool io_operation::refuse(trouble why) noexcept {
    trouble_ = why;
    result_ = -EINVAL;
    return false;
}

int io_operation::bind() noexcept {
    descriptor& on = *descriptor_;
    if (on.engine_ != nullptr) {  // of a loop that is gone
        std::exchange(on.engine_, nullptr)->release();
        on.is_attached_ = false;
    }
    try {
        engine& own = engine::current();
        const int error = own.bind(on);
        if (error == 0) {
            own.acquire();
            on.engine_ = &own;
        }
        return error;
    } catch (...) {
        trouble_ = trouble::no_engine;
        return EINVAL;
    }
}

bool io_operation::start() noexcept {
    if (descriptor_ == nullptr || descriptor_->is_closing_) [[unlikely]] {
        result_ = descriptor_ == nullptr ? -EBADF : -ECANCELED;
        return false;
    }
    descriptor& on = *descriptor_;
    if (on.engine_ == nullptr || on.engine_->home() == nullptr) [[unlikely]] {
        if (const int error = bind(); error != 0) {
            result_ = -error;
            return false;
        }
    } else if (on.engine_->home() != &waiter().home()) [[unlikely]] {
        return refuse(trouble::other_loop);
    }
    if (on.is_used(direction_) && !may_queue()) [[unlikely]] {
        return refuse(trouble::other_user);
    }
    return on.engine_->start(*this);
}

bool io_operation::cancel() noexcept {
    // Asked again, it has answered false: it will still be finished.
    return !std::exchange(is_cancelling_, true) && descriptor_->engine_->cancel(*this);
}

void io_operation::finish() noexcept {
    descriptor& on = *descriptor_;
    on.waiting(direction_).remove(*this);
    // Closing shuts the socket down, which looks like an end or an error of the peer's.
    if (on.is_closing_ && result_ <= 0) {
        result_ = -ECANCELED;
    }
    // A result is delivered; an error, the answer to a cancel above all, gives way to a stop.
    if (result_ >= 0) {
        complete_and_keep();
    } else {
        complete();
    }
    if (on.is_closing_ && !on.is_used()) {
        on.give_back();
    }
}

namespace {

// 'from 127.0.0.1:80', or nothing where there is no such address.
template <class Ask>
std::string named(const char* relation, int fd, Ask ask) {
    sockaddr_storage raw{};
    socklen_t size = sizeof raw;
    if (ask(fd, reinterpret_cast<sockaddr*>(&raw), &size) != 0) {
        return {};
    }
    const address found = address::from(reinterpret_cast<const sockaddr*>(&raw), size);
    return found.kind() == address::family::none ? std::string() : relation + found.text();
}

}  // namespace

std::string io_operation::attempted() const {
    std::string text = name();
    if (descriptor_ == nullptr) {
        return text + " on what is closed";
    }
    const int fd = descriptor_->fd();
    std::string where =
        named(direction_ == readiness::readable ? " from " : " to ", fd, ::getpeername);
    if (where
            .empty()) {  // a listener, or a connection that was reset: the system has forgotten whose
        where = named(" at ", fd, ::getsockname);
    }
    return text + where;
}

void io_operation::fail() const {
    switch (trouble_) {
        case trouble::none:
            break;
        case trouble::no_engine:
            engine::current();
            break;  // throws again, to whom it concerns
        case trouble::other_loop:
            throw invalid_state(std::string(name()) +
                                ": it belongs to another loop; release() it there first");
        case trouble::other_user:
            throw invalid_state(std::string(name()) + ": another task does the same already");
    }
    if (result_ == -ECANCELED) {  // nobody else cancels: a stop does not come here
        throw io_error(ECANCELED, std::string(name()) + ", which was closed meanwhile");
    }
    throw io_error(-result_, attempted());
}

}  // namespace weir::io::detail
