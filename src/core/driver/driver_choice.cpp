// SPDX-License-Identifier: MIT
// Which driver a loop gets. The core has epoll and simulated time; io_uring comes with weir::io,
// whose function the core calls if the program is linked with it.

#include "core/driver/driver_choice.hpp"

#include <weir/error.hpp>

#include <cstdlib>
#include <string>
#include <string_view>

namespace weir {

namespace detail {

// Null in programs that are linked without weir::io.
[[gnu::weak]] std::unique_ptr<driver> try_uring_driver();

namespace {

std::unique_ptr<driver> make_uring_driver() {
    if (try_uring_driver == nullptr) {
        throw loop_error("io_uring was requested, but this program does not use weir::io");
    }
    std::unique_ptr<driver> made = try_uring_driver();
    if (made == nullptr) {
        throw loop_error(
            "io_uring was requested, but is not available: this weir::io was built without it, or "
            "the kernel has none or forbids it");
    }
    return made;
}

}  // namespace

std::unique_ptr<driver> make_driver(driver_kind kind) {
    switch (kind) {
        case driver_kind::simulated:
            return make_simulated_driver();
        case driver_kind::epoll:
            return make_epoll_driver();
        case driver_kind::uring:
            return make_uring_driver();
        case driver_kind::automatic:
            break;
    }
    return make_default_driver();
}

}  // namespace detail

std::unique_ptr<driver> make_default_driver() {
    const char* value = std::getenv("WEIR_DRIVER");
    const std::string_view name = value != nullptr ? value : "";
    if (name == "epoll") {
        return make_epoll_driver();
    }
    if (name == "uring") {
        return detail::make_uring_driver();
    }
    if (!name.empty()) {
        throw loop_error("WEIR_DRIVER is '" + std::string(name) + "'; it can be epoll or uring");
    }
    if (detail::try_uring_driver != nullptr) {
        if (std::unique_ptr<driver> made = detail::try_uring_driver()) {
            return made;
        }
    }
    return make_epoll_driver();
}

}  // namespace weir
