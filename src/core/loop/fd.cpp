// SPDX-License-Identifier: MIT
// A wait is one watch of the driver, which disarms it when it fires.

#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/loop.hpp>

#include <cerrno>
#include <string>
#include <system_error>

namespace weir::detail {

namespace {

std::string describe_call(const char* name, int fd) {
    return std::string(name) + "(" + std::to_string(fd) + ")";
}

// Gives the driver that watches. Errors name the call.
fd_driver& begin_watch(const char* name, int fd, readiness direction, fd_watch& watcher) {
    driver& own = loop::current().get_driver();
    auto* watching = dynamic_cast<fd_driver*>(&own);
    if (watching == nullptr) {
        throw loop_error(describe_call(name, fd) + ": the driver '" + own.name() +
                         "' knows no file descriptors");
    }
    try {
        watching->watch(fd, direction, watcher);
    } catch (const std::system_error& error) {
        if (error.code().value() == EEXIST) {
            throw invalid_state(describe_call(name, fd) +
                                ": a socket or pipe of weir::io uses this descriptor; wait with "
                                "its own operations, or release() it first");
        }
        throw std::system_error(error.code(), describe_call(name, fd));
    }
    return *watching;
}

}  // namespace

fd_operation::~fd_operation() {
    if (driver_ != nullptr) {
        driver_->unwatch(fd_, direction_);
    }
}

bool fd_operation::start() noexcept {
    try {
        driver_ = &begin_watch(name(), fd_, direction_, *this);
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
