// SPDX-License-Identifier: MIT
// What a loop waits with: the outside world, or simulated time.
#pragma once

#include <cstdint>
#include <memory>

namespace weir {

// Times are nanoseconds on the driver's own clock. All calls but wake() come from the loop's
// thread.
class driver {
public:
    static constexpr std::int64_t forever = INT64_MAX;

    virtual ~driver() = default;
    virtual const char* name() const noexcept = 0;
    virtual std::int64_t now() noexcept = 0;

    // Handles what has happened outside, waiting for it until the deadline at most; a deadline of
    // zero polls. Returns early when wake() is called.
    virtual void wait(std::int64_t deadline) = 0;
    // From any thread: makes a wait() that is under way, or the next one, return at once.
    virtual void wake() noexcept = 0;

    // Does a poll do anything while fibers are ready? Not if nothing is registered.
    virtual bool has_sources() const noexcept { return false; }
    // Is there work, such as an operation to begin or to cancel, that the system gets with the next
    // wait() only?
    virtual bool has_unsubmitted() const noexcept { return false; }
    // Simulated time has no outside world: waiting for ever is a deadlock.
    virtual bool is_simulated() const noexcept { return false; }
    // May wake() be called in a signal handler?
    virtual bool wakes_from_signals() const noexcept { return false; }
    // Guest mode: readable when wait() would have something to do, and after wake(), until the next
    // wait(); -1 if there is no such thing.
    virtual int fd() const noexcept { return -1; }
};

// Readiness of a file descriptor, for drivers that can watch one. One shot: it is disarmed when it
// fires. Both io_uring and epoll support it.
class fd_watch {
public:
    fd_watch() noexcept = default;
    fd_watch(const fd_watch&) = delete;
    fd_watch& operator=(const fd_watch&) = delete;
    virtual void fd_ready() noexcept = 0;

protected:
    ~fd_watch() = default;
};

// The driver reports every change of a descriptor to its source, in both directions, until the
// source is detached. Sockets use it, since a wait then needs no arming.
class fd_source {
public:
    fd_source() noexcept = default;
    fd_source(const fd_source&) = delete;
    fd_source& operator=(const fd_source&) = delete;
    // It has become readable or writable. `for_good`: by an end or an error, and it will stay so.
    virtual void fd_changed(bool readable, bool writable, bool for_good) noexcept = 0;

protected:
    ~fd_source() = default;
};

enum class readiness : unsigned char { readable, writable };

class fd_driver : public driver {
public:
    // One watch per descriptor and direction; throws invalid_state if there is one,
    // std::system_error if the descriptor cannot be watched.
    virtual void watch(int fd, readiness direction, fd_watch& watcher) = 0;
    // True if the watch was armed.
    virtual bool unwatch(int fd, readiness direction) noexcept = 0;

    // A descriptor has one source, and then no watches. Returns 0, or the number of the error. The
    // present state counts as a change. Detach before closing the descriptor.
    virtual int attach(int fd, fd_source& source) noexcept = 0;
    virtual void detach(int fd, fd_source& source) noexcept = 0;
    // The next wait() reports the present state of an attached descriptor as if that were a change.
    virtual void report_again(int fd, fd_source& source) noexcept = 0;
};

// Which driver a loop gets is decided when the loop is made, by a call and never by what a program
// includes. A loop takes the driver it is given; else loop_options::driver says which one to make,
// and its default, driver_kind::automatic, calls make_default_driver(): the driver that the
// environment variable WEIR_DRIVER names (epoll or uring), else io_uring if the program uses
// weir::io and the kernel allows it, else epoll.
std::unique_ptr<driver> make_default_driver();
std::unique_ptr<driver> make_epoll_driver();
std::unique_ptr<driver> make_simulated_driver();

namespace detail {
// Makes an io_uring driver, or null where the kernel has no io_uring or forbids it. io_uring needs
// a library, so weir::io defines this function, beside the code that every operation on a
// descriptor needs. The core refers to it weakly: programs without weir::io link, and use epoll.
std::unique_ptr<driver> try_uring_driver();
}  // namespace detail

}  // namespace weir
