// SPDX-License-Identifier: MIT
// Closing ends the operations under way; the number is given back to the system when the last of
// them has let go.

#include <weir/error.hpp>
#include <weir/io/detail/descriptor.hpp>
#include <weir/io/detail/engine.hpp>
#include <weir/io/detail/io_operation.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace weir::io::detail {

void operation_list::push(io_operation& added) noexcept {
    added.next_ = nullptr;
    (tail_ != nullptr ? tail_->next_ : head_) = &added;
    tail_ = &added;
}

void operation_list::remove(io_operation& listed) noexcept {
    io_operation* before = nullptr;
    for (io_operation* each = head_; each != &listed; each = each->next_) {
        before = each;
    }
    (before != nullptr ? before->next_ : head_) = listed.next_;
    if (tail_ == &listed) {
        tail_ = before;
    }
}

descriptor::~descriptor() {
    give_back();
}

void descriptor::give_back() noexcept {
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

int descriptor::release() {
    if (is_used()) {
        throw invalid_state("release: operations are under way on file descriptor " +
                            std::to_string(fd_));
    }
    leave_engine();
    return std::exchange(fd_, -1);
}

namespace {

bool listens(int fd) noexcept {
    int answer = 0;
    socklen_t size = sizeof answer;
    return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &answer, &size) == 0 && answer != 0;
}

}  // namespace

int release(owned_descriptor& own, const char* what) {
    if (own == nullptr) {
        throw invalid_state("release: the " + std::string(what) + " is closed");
    }
    const int given = own->release();
    own.reset();
    return given;
}

void descriptor::close() noexcept {
    is_closing_ = true;
    const bool is_live = engine_ != nullptr && engine_->home() != nullptr;
    for (operation_list& list : waiting_) {
        io_operation* each = is_live ? list.head() : nullptr;
        while (each != nullptr) {
            io_operation* const next = each->next_;
            if (each->cancel()) {
                each->result_ = -ECANCELED;
                each->complete();
            }
            each = next;
        }
    }
    // The peer need not wait for the last operation. A listener has no peer, and may be that of
    // other processes as well, which a shutdown would silence.
    if (is_live && is_used() && !listens(fd_)) {
        ::shutdown(fd_, SHUT_RDWR);
    }
    if (!is_live || !is_used()) {
        give_back();
    }
    let_go();
}

}  // namespace weir::io::detail
