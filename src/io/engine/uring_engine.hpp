// SPDX-License-Identifier: MIT
// Operations over uring_driver: each is an entry of the ring.
#pragma once

#include "io/engine/engine.hpp"
#include "io/engine/uring_ring.hpp"

#include <weir/io/detail/io_operation.hpp>

#include <poll.h>

namespace weir::io::detail {

// The poll events of a direction.
constexpr unsigned poll_mask(readiness direction) noexcept {
    return direction == readiness::readable ? POLLIN | POLLRDHUP : POLLOUT;
}

class uring_engine final : public engine {
public:
    uring_engine(const weir::detail::loop_core& home, uring_ring& ring) noexcept
        : engine(home), ring_(ring) {}

    int bind(descriptor&) noexcept override { return 0; }
    void unbind(descriptor&) noexcept override {}
    bool start(io_operation& begun) noexcept override;
    bool cancel(io_operation& pending) noexcept override;
    bool does_files() const noexcept override { return true; }

    // The driver has received the operation's completion.
    void completed(io_operation& done, const io_uring_cqe& completion) noexcept;

private:
    void submit(io_operation& begun) noexcept;
    void submit_behind_poll(io_operation& begun) noexcept;

    uring_ring& ring_;
};

}  // namespace weir::io::detail
