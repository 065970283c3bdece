// SPDX-License-Identifier: MIT
// A file descriptor, who waits on it, and what is known of its state. Sockets, listeners and pipes
// each own one.
#pragma once

#include <weir/driver.hpp>

#include <memory>

namespace weir::io::detail {

class engine;
class io_operation;

// First in, first out.
class operation_list {
public:
    bool empty() const noexcept { return head_ == nullptr; }
    io_operation* head() const noexcept { return head_; }
    void push(io_operation& added) noexcept;
    void remove(io_operation& listed) noexcept;

private:
    io_operation* head_ = nullptr;
    io_operation* tail_ = nullptr;
};

// The descriptor stays open until the last operation on it has let go: close() only asks for that.
// So its number cannot become another file's while the kernel still works with it. The object is
// counted by its owner and by every operation, since one may be closed before it has begun: made,
// and awaited after its task has given way to others.
class descriptor final : private fd_source {
public:
    explicit descriptor(int owned, bool is_nonblocking = false) noexcept
        : fd_(owned), is_nonblocking_(is_nonblocking) {}

    int fd() const noexcept { return fd_; }
    bool is_used(readiness direction) const noexcept {
        return !waiting_[static_cast<int>(direction)].empty();
    }
    bool is_used() const noexcept {
        return is_used(readiness::readable) || is_used(readiness::writable);
    }

    // Gives the number up without closing it. Throws invalid_state while operations are under way.
    int release();

    void acquire() noexcept { ++references_; }
    void let_go() noexcept {
        if (--references_ == 0) {
            delete this;
        }
    }

private:
    friend class io_operation;
    friend class readiness_engine;
    friend class ring_engine;
    friend struct descriptor_closer;

    ~descriptor();
    void fd_changed(bool readable, bool writable, bool for_good) noexcept override;
    operation_list& waiting(readiness direction) noexcept {
        return waiting_[static_cast<int>(direction)];
    }
    bool& may_be_ready(readiness direction) noexcept {
        return may_be_ready_[static_cast<int>(direction)];
    }
    void leave_engine() noexcept;
    void close() noexcept;      // now, or when the last operation has ended; the owner lets go
    void give_back() noexcept;  // the number, to the system

    int fd_;
    unsigned references_ = 1;
    bool is_nonblocking_;
    bool is_attached_ = false;  // to the driver, for readiness
    bool is_closing_ = false;
    // Readiness, as far as is known: false only after a call that would have blocked.
    bool may_be_ready_[2] = {true, true};
    // After a read that gave less than it had room for: at an end or an error, and where the system
    // ends a read early.
    bool may_hold_more_ = false;
    engine* engine_ = nullptr;  // counted; null until the first operation
    operation_list waiting_[2];
};

struct descriptor_closer {
    void operator()(descriptor* closed) const noexcept { closed->close(); }
};
using owned_descriptor = std::unique_ptr<descriptor, descriptor_closer>;

// Gives the number up and leaves the owner closed. Throws invalid_state, with what it is in the
// message, if it was closed before or operations are under way.
int release(owned_descriptor& own, const char* what);

}  // namespace weir::io::detail
