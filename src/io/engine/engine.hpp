// SPDX-License-Identifier: MIT
// How a loop carries out operations on descriptors. There are two engines, one for each driver:
//
//   epoll_engine (beside core's epoll_driver) tries the system call. If the call would block, the
//   engine tries again when the driver reports that the descriptor has changed.
//   uring_engine (beside uring_driver) hands the operation to io_uring and finishes it when its
//   completion arrives.
//
// An operation has both forms: attempt() and prepare().
#pragma once

#include <weir/driver.hpp>

#include <cstddef>

namespace weir::detail {
class loop_core;
}

namespace weir::io::detail {

class descriptor;
class io_operation;

// Reference-counted, because a descriptor may outlive its loop. Used on the loop's thread only.
class engine {
public:
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    // The engine of the running loop. Throws loop_error if the loop's driver has no descriptors.
    static engine& current();
    // Does the running loop's engine support regular files? False if the loop has no engine.
    static bool current_does_files();

    // The loop that the engine belongs to; null after that loop has ended.
    const weir::detail::loop_core* home() const noexcept { return home_; }

    // Called before the first operation on a descriptor. Returns 0 or an errno.
    virtual int bind(descriptor& fresh) noexcept = 0;
    // Called before a descriptor is closed or released.
    virtual void unbind(descriptor& bound) noexcept = 0;
    // True: the operation is in its descriptor's list and will be finished later. False: it already
    // has its result.
    virtual bool start(io_operation& begun) noexcept = 0;
    // True: the operation has left the list and no longer uses its buffers. False: it will still be
    // finished.
    virtual bool cancel(io_operation& pending) noexcept = 0;
    // io_uring can operate on regular files; epoll cannot.
    virtual bool does_files() const noexcept = 0;

    void acquire() noexcept { ++references_; }
    void release() noexcept {
        if (--references_ == 0) {
            delete this;
        }
    }
    void loop_ended() noexcept { home_ = nullptr; }

protected:
    explicit engine(const weir::detail::loop_core& home) noexcept : home_(&home) {}
    virtual ~engine() = default;

private:
    const weir::detail::loop_core* home_;
    std::size_t references_ = 1;
};

// A driver that carries out operations itself instead of reporting readiness: io_uring.
class completion_driver : public fd_driver {
public:
    virtual engine* make_engine(const weir::detail::loop_core& home) = 0;
};

}  // namespace weir::io::detail
