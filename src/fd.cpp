// SPDX-License-Identifier: MIT
// A wait is one watch of the driver, which disarms it when it fires.

#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/loop.hpp>

#include <string>

namespace weir::detail {

fd_operation::~fd_operation() {
    if (driver_ != nullptr) {
        driver_->unwatch(fd_, direction_);
    }
}

bool fd_operation::start() noexcept {
    try {
        driver& own = loop::current().get_driver();
        auto* watching = dynamic_cast<fd_driver*>(&own);
        if (watching == nullptr) {
            throw loop_error(std::string(name()) + "(" + std::to_string(fd_) + "): the driver '" +
                             own.name() + "' knows no file descriptors");
        }
        watching->watch(fd_, direction_, *this);
        driver_ = watching;
        return true;
    } catch (...) {
        error_ = std::current_exception();
        return false;
    }
}

bool fd_operation::cancel() noexcept {
    std::exchange(driver_, nullptr)->unwatch(fd_, direction_);
    return true;
}

void fd_operation::fd_ready() noexcept {
    driver_ = nullptr;
    complete();
}

}  // namespace weir::detail
