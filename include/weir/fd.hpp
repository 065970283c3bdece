// SPDX-License-Identifier: MIT
// Waiting for a file descriptor: for libraries that do their own reading and writing.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/driver.hpp>

#include <exception>

namespace weir {

namespace detail {

class WEIR_MUST_AWAIT fd_operation final : public operation, private fd_watch {
public:
    fd_operation(int fd, readiness direction) noexcept : fd_(fd), direction_(direction) {}
    fd_operation(fd_operation&& unawaited) noexcept
        : fd_(unawaited.fd_), direction_(unawaited.direction_) {}
    ~fd_operation();

    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override {
        return direction_ == readiness::readable ? "wait_readable" : "wait_writable";
    }
    void resume() const {
        if (error_ != nullptr) {
            std::rethrow_exception(error_);
        }
    }

private:
    void fd_ready() noexcept override;

    fd_driver* driver_ = nullptr;  // while it watches
    std::exception_ptr error_;
    int fd_;
    readiness direction_;
};

}  // namespace detail

// co_await wait_readable(fd): until reading would not block (there is data, the end, or an error to
// be read). Reports the state, not a change: a descriptor that is readable now completes at the
// loop's next poll. Does not own the descriptor: keep it open until the wait has ended. Cancelling
// unregisters at once. Throws std::system_error if the descriptor is bad or of a kind that cannot
// be waited for (a regular file), invalid_state if another task waits for the same direction of it,
// loop_error if the loop's driver knows no descriptors (simulated time).
inline detail::fd_operation wait_readable(int fd) noexcept {
    return {fd, readiness::readable};
}
inline detail::fd_operation wait_writable(int fd) noexcept {
    return {fd, readiness::writable};
}

}  // namespace weir
