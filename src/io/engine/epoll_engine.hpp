// SPDX-License-Identifier: MIT
// Operations over a driver that reports readiness: core's epoll_driver.
#pragma once

#include "io/engine/engine.hpp"

#include <weir/io/detail/io_operation.hpp>

namespace weir::io::detail {

class epoll_engine final : public engine {
public:
    epoll_engine(const weir::detail::loop_core& home, fd_driver& driver) noexcept
        : engine(home), driver_(driver) {}

    int bind(descriptor& fresh) noexcept override;
    void unbind(descriptor& bound) noexcept override;
    bool start(io_operation& begun) noexcept override;
    bool cancel(io_operation& pending) noexcept override;
    bool does_files() const noexcept override { return false; }

    // The descriptor has become ready: tries the waiting operations again.
    void retry(descriptor& changed, io_event awaited) noexcept;

private:
    // Tries until the operation has its result (true) or waits for the driver (false): it would
    // block, or it is so large that others are to have their turn in between.
    bool advance(descriptor& target, io_operation& tried) noexcept;

    fd_driver& driver_;
};

}  // namespace weir::io::detail
