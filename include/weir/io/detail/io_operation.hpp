// SPDX-License-Identifier: MIT
// The base of every operation on a file descriptor, and the descriptor that it waits on. Sockets,
// listeners and pipes each own a descriptor; their functions return an io_operation.
//
// An awaited operation goes io_operation::start() -> engine::start() (src/io/engine/engine.hpp) ->
// attempt() or the ring; the engine calls finish() when it has the result, and the fiber continues
// with resume() of the derived class.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/fault_point.hpp>
#include <weir/base/intrusive_list.hpp>
#include <weir/driver.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

struct io_uring_sqe;

namespace weir::io::detail {

class engine;
class io_operation;

// What the begin of a connection costs of a step's budget, beside the system call: the kernel's
// work for it, and the end of the connection.
inline constexpr int cost_of_connection = 448;

using operation_list = weir::detail::intrusive_list<io_operation>;  // first in, first out

// What an operation waits for. A descriptor has a list of operations for each.
enum class io_event : unsigned char {
    readable,
    writable,
    closed,  // by the peer, in one direction or both, whatever is left to read
};
inline constexpr std::size_t io_event_count = 3;

// An open file descriptor, the operations that wait on it, and what is known of its readiness.
//
// The number stays open until the last operation on it has ended; close() only asks for that. So
// the number cannot become another file's while the kernel still works with it. The object is
// counted by its owner and by every operation, because an operation may be made before, and awaited
// after, the descriptor is closed.
class descriptor final : private fd_source {
public:
    explicit descriptor(int fd, bool is_nonblocking = false) noexcept
        : fd_(fd), is_nonblocking_(is_nonblocking) {}

    int fd() const noexcept { return fd_; }
    bool is_used(io_event awaited) const noexcept {
        return !waiting_[static_cast<std::size_t>(awaited)].empty();
    }
    bool is_used() const noexcept {
        return is_used(io_event::readable) || is_used(io_event::writable) ||
               is_used(io_event::closed);
    }

    // Gives the number up without closing it. Throws invalid_state while operations are in flight.
    int release();

    void add_reference() noexcept { ++references_; }
    void remove_reference() noexcept {
        if (--references_ == 0) {
            delete this;
        }
    }

private:
    friend class io_operation;
    friend class epoll_engine;
    friend class uring_engine;
    friend struct descriptor_closer;

    ~descriptor();
    void fd_changed(bool readable, bool writable, bool for_good) noexcept override;
    operation_list& waiting(io_event awaited) noexcept {
        return waiting_[static_cast<std::size_t>(awaited)];
    }
    bool& may_be_ready(io_event awaited) noexcept {
        return may_be_ready_[static_cast<std::size_t>(awaited)];
    }
    void leave_engine() noexcept;
    // Now, or when the last operation has ended. The owner's reference goes with it.
    void close() noexcept;
    void close_fd() noexcept;

    int fd_;
    unsigned references_ = 1;
    bool is_nonblocking_;
    bool is_attached_ = false;  // to the driver, for readiness
    bool is_closing_ = false;
    // The known readiness: false only after a call that would have blocked.
    bool may_be_ready_[io_event_count] = {true, true, true};
    // There may be more to read even after a read that did not fill its buffer: at an end or an
    // error, and where the system ends a read early.
    bool may_hold_more_ = false;
    engine* engine_ = nullptr;  // counted; null until the first operation
    operation_list waiting_[io_event_count];
};

struct descriptor_closer {
    void operator()(descriptor* closed) const noexcept { closed->close(); }
};
using owned_descriptor = std::unique_ptr<descriptor, descriptor_closer>;

// Gives the number up and leaves the owner closed. Throws invalid_state, with the kind of the owner
// in the message, if the owner was closed before or operations are in flight.
int release(owned_descriptor& own, const char* kind);

// Derived classes say how the operation is tried now, how it is handed to io_uring, and what a
// result means. The buffers that they point to are in use until the operation is finished or
// cancel() has returned true. Data that was taken from the kernel is delivered even if a stop has
// arrived in the meantime, because it would be lost.
class io_operation : public operation, private weir::detail::list_link<> {
public:
    // A null descriptor: the owner is closed, and that is the error that the operation reports.
    io_operation(descriptor* target, io_event awaited) noexcept
        : descriptor_(target), awaited_(awaited) {
        if (target != nullptr) {
            target->add_reference();
        }
    }
    io_operation(io_operation&& unawaited) noexcept
        : operation(std::move(unawaited)),
          descriptor_(std::exchange(unawaited.descriptor_, nullptr)),
          awaited_(unawaited.awaited_) {}

    bool start() noexcept override;
    bool cancel() noexcept override;

protected:
    ~io_operation() {
        if (descriptor_ != nullptr) {
            descriptor_->remove_reference();
        }
    }

    // Makes the system call without blocking. Returns its result or a negative errno; -EAGAIN to
    // wait.
    virtual int attempt() noexcept = 0;
    // Does io_uring only wait until the descriptor is ready, so that the first attempt is made
    // without it?
    virtual bool is_attempted_first() const noexcept { return false; }
    // Describes the operation to io_uring.
    virtual void prepare(io_uring_sqe& entry) noexcept = 0;
    // Takes a result as attempt() returns it. False: there is more to do, such as the rest of a
    // write, and the operation is started again.
    virtual bool take(int result) noexcept {
        result_ = result;
        return true;
    }
    // May several operations that wait for the same be in flight? Two readers of a stream would
    // each get parts of it.
    virtual bool may_queue() const noexcept { return false; }
    // Does the descriptor report when a call that would have blocked is worth another try?
    virtual bool can_be_awaited() const noexcept { return true; }
    // Did the call take all there was? Then the next call need not be tried before it waits.
    virtual bool has_drained(int) const noexcept { return false; }
    // Where a test may have it fail; a timer stands for none.
    virtual io_point point() const noexcept { return io_point::timer; }
    // For such a test: transfers a single byte.
    virtual void shorten() noexcept {}
    // The name of the operation, for error messages.
    virtual std::string attempted() const;

    // The result. Throws io_error that says what was tried: 'read from 127.0.0.1:80: Connection
    // reset'.
    int checked() const {
        if (result_ < 0) [[unlikely]] {
            fail();
        }
        return result_;
    }

    // The result or a negative errno; throws for mistakes of the program alone.
    int unthrown() const {
        if (is_misuse()) [[unlikely]] {
            fail();
        }
        return result_;
    }

    // Is the error a mistake of the program, which has an exception of its own?
    bool is_misuse() const noexcept { return misuse_ != misuse::none; }
    descriptor* target() const noexcept { return descriptor_; }

    int result_ = 0;

private:
    friend operation_list;
    friend class descriptor;
    friend class epoll_engine;
    friend class uring_engine;

    enum class misuse : unsigned char { none, no_engine, other_loop, other_task };

    [[noreturn]] void fail() const;
    bool refuse(misuse kind) noexcept;
    bool inject_fault() noexcept;
    int bind() noexcept;
    // attempt(), which is charged to the step's budget.
    int try_once() noexcept {
        const int result = attempt();
        weir::detail::charge_system_call(result);
        return result;
    }
    // Called by the engine with the result stored: leaves the list and resumes the fiber.
    void finish() noexcept;

    descriptor* descriptor_;
    io_event awaited_;
    misuse misuse_ = misuse::none;
    bool is_cancelling_ = false;
    bool is_behind_poll_ = false;  // in the ring: it begins when the descriptor is ready
};

}  // namespace weir::io::detail
