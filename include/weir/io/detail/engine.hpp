// SPDX-License-Identifier: MIT
// How a loop carries out operations on descriptors: there are two ways, both behind this class.
//
// readiness_engine tries the system call, and when it would block, tries again when the driver says
// that the descriptor has changed. ring_engine hands the operation to io_uring, and hears when it
// is done. An operation knows both forms of itself: attempt() and prepare().
#pragma once

#include <weir/driver.hpp>

#include <cstddef>
#include <memory>

namespace weir::detail {
class loop_core;
}

namespace weir::io::detail {

class descriptor;
class io_operation;

// Counted, because a descriptor may outlive its loop; all on the loop's thread.
class engine {
public:
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    // That of the running loop. Throws loop_error if its driver knows no descriptors.
    static engine& current();
    // Does the running loop's engine do files? False too where there is none.
    static bool does_files_here();

    // The loop that it belongs to; null when that is gone.
    const weir::detail::loop_core* home() const noexcept { return home_; }

    // The first operation on a descriptor is about to begin. Returns 0 or the number of an error.
    virtual int bind(descriptor& fresh) noexcept = 0;
    // Before the descriptor is closed or released.
    virtual void unbind(descriptor& bound) noexcept = 0;
    // True: it is in its descriptor's list, and will be finished. False: it has its result already.
    virtual bool start(io_operation& begun) noexcept = 0;
    // True: it has let go and left the list. False: it will still be finished.
    virtual bool cancel(io_operation& pending) noexcept = 0;
    // io_uring can do what readiness cannot: regular files.
    virtual bool does_files() const noexcept = 0;

    void acquire() noexcept { ++references_; }
    void release() noexcept {
        if (--references_ == 0) {
            delete this;
        }
    }
    void loop_is_gone() noexcept { home_ = nullptr; }

protected:
    explicit engine(const weir::detail::loop_core& home) noexcept : home_(&home) {}
    virtual ~engine() = default;

private:
    const weir::detail::loop_core* home_;
    std::size_t references_ = 1;
};

// Null where io_uring is missing, forbidden, or was left out of the build.
std::unique_ptr<driver> make_uring_driver();

}  // namespace weir::io::detail
