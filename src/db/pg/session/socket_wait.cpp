// SPDX-License-Identifier: MIT
// One watch for each direction, armed when the task goes to sleep and not armed yet. A watch that
// fires wakes the task, as wake() does.

#include "db/pg/session/socket_wait.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

namespace weir::pg::detail {

void socket_wait::open(int descriptor) {
    driver_ = dynamic_cast<fd_driver*>(&loop::current().get_driver());
    if (driver_ == nullptr) {
        throw loop_error("pg: the driver of this loop cannot watch descriptors");
    }
    descriptor_ = descriptor;
}

void socket_wait::wake() noexcept {
    is_woken_ = true;
    if (operation* const waiting = std::exchange(waiting_, nullptr)) {
        waiting->complete();
    }
}

void socket_wait::unwatch() noexcept {
    disarm(reader_);
    disarm(writer_);
}

bool socket_wait::operation::start() noexcept {
    try {
        if (wanted_ != interest::none) {
            owner_.arm(owner_.reader_);
        }
        if (wanted_ == interest::read_and_write) {
            owner_.arm(owner_.writer_);
        }
    } catch (...) {
        has_failed_ = true;
        return false;
    }
    owner_.waiting_ = this;
    return true;
}

void socket_wait::watch::fd_ready() noexcept {
    is_armed = false;
    if (direction == readiness::readable) {
        owner.is_readable_ = true;
    }
    owner.wake();
}

void socket_wait::arm(watch& which) {
    if (!which.is_armed) {
        driver_->watch(descriptor_, which.direction, which);
        which.is_armed = true;
    }
}

void socket_wait::disarm(watch& which) noexcept {
    if (which.is_armed) {
        driver_->unwatch(descriptor_, which.direction);
        which.is_armed = false;
    }
}

}  // namespace weir::pg::detail
