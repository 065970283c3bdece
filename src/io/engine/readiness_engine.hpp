// SPDX-License-Identifier: MIT
// Operations over a driver that tells about readiness: epoll.
#pragma once

#include <weir/io/detail/engine.hpp>

namespace weir::io::detail {

class readiness_engine final : public engine {
public:
    readiness_engine(const weir::detail::loop_core& home, fd_driver& over) noexcept
        : engine(home), driver_(over) {}

    int bind(descriptor& fresh) noexcept override;
    void unbind(descriptor& bound) noexcept override;
    bool start(io_operation& begun) noexcept override;
    bool cancel(io_operation& pending) noexcept override;
    bool does_files() const noexcept override { return false; }

    // The descriptor has changed: those who wait try again.
    static void retry(descriptor& changed, readiness direction) noexcept;

private:
    // Tries until it has its result, which is true, or would block.
    static bool go_on(descriptor& on, io_operation& tried) noexcept;

    fd_driver& driver_;
};

}  // namespace weir::io::detail
