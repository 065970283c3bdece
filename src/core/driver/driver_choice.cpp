// SPDX-License-Identifier: MIT
// Which driver a loop gets. The core has epoll and simulated time; io_uring needs a library, so it
// comes with weir::io, whose headers leave a function here that makes one.

#include "core/loop/loop_state.hpp"

#include <weir/error.hpp>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

namespace weir::detail {

namespace {

constinit std::atomic<driver_maker> uring_maker{nullptr};

std::unique_ptr<driver> try_uring() {
    const driver_maker maker = uring_maker.load();
    return maker != nullptr ? maker() : nullptr;
}

driver_kind kind_by_environment() {
    const char* value = std::getenv("WEIR_DRIVER");
    const std::string_view wanted = value != nullptr ? value : "";
    if (wanted.empty()) {
        return driver_kind::automatic;
    }
    if (wanted == "epoll") {
        return driver_kind::epoll;
    }
    if (wanted == "uring") {
        return driver_kind::uring;
    }
    throw loop_error("WEIR_DRIVER is '" + std::string(wanted) + "'; it can be epoll or uring");
}

}  // namespace

bool provide_uring(driver_maker maker) noexcept {
    uring_maker.store(maker);
    return true;
}

std::unique_ptr<driver> make_driver(driver_kind wanted) {
    if (wanted == driver_kind::automatic) {
        wanted = kind_by_environment();
    }
    if (wanted == driver_kind::simulated) {
        return make_simulated_driver();
    }
    if (wanted != driver_kind::epoll) {
        if (std::unique_ptr<driver> made = try_uring()) {
            return made;
        }
        if (wanted == driver_kind::uring) {
            throw loop_error(uring_maker.load() == nullptr
                                 ? "io_uring was asked for, but this program does not use weir::io"
                                 : "io_uring was asked for, but there is none: this weir::io was "
                                   "built without it, or the kernel has none or forbids it");
        }
    }
    return make_epoll_driver();
}

}  // namespace weir::detail
