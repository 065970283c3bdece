// SPDX-License-Identifier: MIT
// The base of every operation on a descriptor.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/io/detail/descriptor.hpp>
#include <weir/io/detail/engine.hpp>

#include <string>
#include <utility>

struct io_uring_sqe;

namespace weir::io::detail {

// Derived classes say how it is tried now, how it is handed to io_uring, and what a result means.
// The buffers that they point to are in use until the operation is finished or a cancel() said
// true. What has been taken from the kernel is delivered even if a stop has come meanwhile: it
// would be lost.
class io_operation : public operation {
public:
    // A null descriptor: what was asked is closed, which is the error that it gives.
    io_operation(descriptor* on, readiness direction) noexcept
        : descriptor_(on), direction_(direction) {
        if (on != nullptr) {
            on->acquire();
        }
    }
    io_operation(io_operation&& unawaited) noexcept
        : operation(std::move(unawaited)),
          descriptor_(std::exchange(unawaited.descriptor_, nullptr)),
          direction_(unawaited.direction_) {}

    bool start() noexcept override;
    bool cancel() noexcept override;

protected:
    ~io_operation() {
        if (descriptor_ != nullptr) {
            descriptor_->let_go();
        }
    }

    // Does it without blocking: the result, or the negative number of an error; -EAGAIN to wait.
    virtual int attempt() noexcept = 0;
    // Describes it to io_uring.
    virtual void prepare(io_uring_sqe& entry) noexcept = 0;
    // What came of it, as attempt() returns it. False: there is more to do, such as the rest of a
    // write, and it goes round again.
    virtual bool take(int result) noexcept {
        result_ = result;
        return true;
    }
    // May others of the same direction be under way? Two readers of a stream would tear it apart.
    virtual bool may_queue() const noexcept { return false; }
    // Does the descriptor tell when a call that would have blocked is worth another try?
    virtual bool can_be_awaited() const noexcept { return true; }
    // Did the call take all that there was? Then the next one need not try before it waits.
    virtual bool has_drained(int) const noexcept { return false; }
    // What was tried, for the error.
    virtual std::string attempted() const;

    // The result, or a throw that says what was tried: 'read from 127.0.0.1:80: Connection reset'.
    int checked() const {
        if (result_ < 0) [[unlikely]] {
            fail();
        }
        return result_;
    }

    // Is its error one of the program, which has an exception of its own?
    bool is_misused() const noexcept { return trouble_ != trouble::none; }
    descriptor* on() const noexcept { return descriptor_; }

    int result_ = 0;

private:
    friend class operation_list;
    friend class descriptor;
    friend class readiness_engine;
    friend class ring_engine;

    enum class trouble : unsigned char { none, no_engine, other_loop, other_user };

    [[noreturn]] void fail() const;
    bool refuse(trouble why) noexcept;
    int bind() noexcept;
    // The engine is through with it: it leaves the list, and the fiber goes on.
    void finish() noexcept;

    descriptor* descriptor_;
    io_operation* next_ = nullptr;
    readiness direction_;
    trouble trouble_ = trouble::none;
    bool is_cancelling_ = false;
    bool is_behind_poll_ = false;  // in the ring: it begins when the descriptor is ready
};

}  // namespace weir::io::detail
