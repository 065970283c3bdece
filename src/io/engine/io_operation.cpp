// SPDX-License-Identifier: MIT
// The first operation on a descriptor binds the descriptor to the loop's engine; the engine then
// carries out every operation. Closing a descriptor ends its operations, and the number goes back
// to the system when the last of them has ended.

#include "io/engine/engine.hpp"
#include "io/engine/epoll_engine.hpp"

#include <weir/error.hpp>
#include <weir/io/address.hpp>
#include <weir/io/detail/io_operation.hpp>
#include <weir/io/error.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace weir::io::detail {

// ---- operations

bool io_operation::start() noexcept {
    if (descriptor_ == nullptr || descriptor_->is_closing_) [[unlikely]] {
        result_ = descriptor_ == nullptr ? -EBADF : -ECANCELED;
        return false;
    }
    descriptor& target = *descriptor_;
    if (target.engine_ == nullptr || target.engine_->home() == nullptr) [[unlikely]] {
        if (const int error = bind(); error != 0) {
            result_ = -error;
            return false;
        }
    } else if (target.engine_->home() != &waiter().home()) [[unlikely]] {
        return refuse(misuse::other_loop);
    }
    if (target.is_used(awaited_) && !may_queue()) [[unlikely]] {
        return refuse(misuse::other_task);
    }
    if (weir::detail::this_thread.faults != nullptr && inject_fault()) [[unlikely]] {
        return false;
    }
    return target.engine_->start(*this);
}

// A test has it fail. The peer of a stream sees a connection that ends, too; datagrams, of which
// several tasks may wait, are whole, and the next one may succeed.
bool io_operation::inject_fault() noexcept {
    if (point() == io_point::timer) {
        return false;
    }
    const weir::detail::fault_answer fault = weir::detail::fault_at(point(), name());
    const bool is_stream = !may_queue();
    const bool is_cut_off = fault.cut_short && point() == io_point::write && is_stream;
    if (fault.cut_short && !is_cut_off) {
        shorten();
    }
    if (fault.error == 0 && !is_cut_off) {
        return false;
    }
    if (is_cut_off) {
        shorten();
        attempt();
    }
    if (is_stream && (point() == io_point::read || point() == io_point::write)) {
        ::shutdown(descriptor_->fd(), SHUT_RDWR);
    }
    result_ = fault.error != 0 ? -fault.error : -ECONNRESET;
    return true;
}

bool io_operation::refuse(misuse kind) noexcept {
    misuse_ = kind;
    result_ = -EINVAL;
    return false;
}

int io_operation::bind() noexcept {
    descriptor& target = *descriptor_;
    if (target.engine_ != nullptr) {  // of a loop that has ended
        std::exchange(target.engine_, nullptr)->release();
        target.is_attached_ = false;
    }
    try {
        engine& current = engine::current();
        const int error = current.bind(target);
        if (error == 0) {
            current.acquire();
            target.engine_ = &current;
        }
        return error;
    } catch (...) {
        misuse_ = misuse::no_engine;
        return EINVAL;
    }
}

bool io_operation::cancel() noexcept {
    // A second call comes only after the first returned false: the operation will be finished.
    return !std::exchange(is_cancelling_, true) && descriptor_->engine_->cancel(*this);
}

void io_operation::finish() noexcept {
    descriptor& target = *descriptor_;
    target.waiting(awaited_).remove(*this);
    // close() shuts the socket down, which looks like an end or an error that the peer caused.
    if (target.is_closing_ && result_ <= 0) {
        result_ = -ECANCELED;
    }
    // A stop does not drop a result; it does replace an error, such as the effect of a cancel.
    if (result_ >= 0) {
        complete_and_keep();
    } else {
        complete();
    }
    if (target.is_closing_ && !target.is_used()) {
        target.close_fd();
    }
}

namespace {

// ' from 127.0.0.1:80'; empty if the descriptor has no such address.
template <class Query>
std::string with_address(const char* preposition, int fd, Query query) {
    sockaddr_storage raw{};
    socklen_t size = sizeof raw;
    if (query(fd, reinterpret_cast<sockaddr*>(&raw), &size) != 0) {
        return {};
    }
    const address found = address::from(reinterpret_cast<const sockaddr*>(&raw), size);
    return found.kind() == address::family::none ? std::string() : preposition + found.text();
}

}  // namespace

std::string io_operation::attempted() const {
    std::string text = name();
    if (descriptor_ == nullptr) {
        return text + " on what is closed";
    }
    const int fd = descriptor_->fd();
    std::string where =
        with_address(awaited_ == io_event::writable ? " to " : " from ", fd, ::getpeername);
    if (where.empty()) {  // a listener, or a connection that was reset and has no peer any more
        where = with_address(" at ", fd, ::getsockname);
    }
    return text + where;
}

void io_operation::fail() const {
    switch (misuse_) {
        case misuse::none:
            break;
        case misuse::no_engine:
            engine::current();  // throws the same error again, now in the task that awaits
            break;
        case misuse::other_loop:
            throw invalid_state(std::string(name()) +
                                ": it belongs to another loop; release() it there first");
        case misuse::other_task:
            throw invalid_state(std::string(name()) + ": another task does the same already");
    }
    if (result_ == -ECANCELED) {  // by close(): a stopped fiber does not resume the operation
        throw io_error(ECANCELED, std::string(name()) + ", which was closed meanwhile");
    }
    throw io_error(-result_, attempted());
}

// ---- descriptors

namespace {

bool is_listening(int fd) noexcept {
    int answer = 0;
    socklen_t size = sizeof answer;
    return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &answer, &size) == 0 && answer != 0;
}

}  // namespace

descriptor::~descriptor() {
    close_fd();
}

void descriptor::close_fd() noexcept {
    leave_engine();
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

void descriptor::leave_engine() noexcept {
    if (engine_ == nullptr) {
        return;
    }
    if (engine_->home() != nullptr) {
        engine_->unbind(*this);
    }
    std::exchange(engine_, nullptr)->release();
}

void descriptor::fd_changed(bool readable, bool writable, bool for_good) noexcept {
    may_hold_more_ |= for_good;
    auto& bound_to = static_cast<epoll_engine&>(*engine_);  // others attach no sources
    if (readable) {
        bound_to.retry(*this, io_event::readable);
    }
    if (writable) {
        bound_to.retry(*this, io_event::writable);
    }
    if (for_good) {
        bound_to.retry(*this, io_event::closed);
    }
}

void descriptor::close() noexcept {
    is_closing_ = true;
    const bool is_live = engine_ != nullptr && engine_->home() != nullptr;
    for (operation_list& list : waiting_) {
        for (auto at = list.begin(); is_live && at != list.end();) {
            io_operation& each = *at++;
            if (each.cancel()) {
                each.result_ = -ECANCELED;
                each.complete();
            }
        }
    }
    // The peer need not wait until the last operation has ended. A listener has no peer, and other
    // processes may use it too: a shutdown would end it for them.
    if (is_live && is_used() && !is_listening(fd_)) {
        ::shutdown(fd_, SHUT_RDWR);
    }
    if (!is_live || !is_used()) {
        close_fd();
    }
    remove_reference();
}

int descriptor::release() {
    if (is_used()) {
        throw invalid_state("release: operations are under way on file descriptor " +
                            std::to_string(fd_));
    }
    leave_engine();
    return std::exchange(fd_, -1);
}

int release(owned_descriptor& own, const char* kind) {
    if (own == nullptr) {
        throw invalid_state("release: the " + std::string(kind) + " is closed");
    }
    const int fd = own->release();
    own.reset();
    return fd;
}

}  // namespace weir::io::detail
