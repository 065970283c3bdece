// SPDX-License-Identifier: MIT
// What can be awaited on a datagram socket.
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/detail/io_operation.hpp>

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <string>

namespace weir::udp {

struct datagram {
    std::size_t size = 0;  // of what is in the buffer; 0 is a datagram too
    io::address sender{};
    bool truncated = false;  // it was larger than the buffer, and the rest is lost
};

}  // namespace weir::udp

namespace weir::io::detail {

// Each takes a whole datagram, so several tasks may wait: the message headers, which the kernel
// reads and writes, are in the operation, which does not move any more once it is awaited.
class receive_operation final : public io_operation {
public:
    receive_operation(descriptor* on, bytes into) noexcept
        : io_operation(on, readiness::readable), into_(into) {}
    receive_operation(receive_operation&& unawaited) noexcept
        : io_operation(std::move(unawaited)), into_(unawaited.into_) {}

    const char* name() const noexcept override { return "receive"; }
    udp::datagram resume() const;

private:
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool may_queue() const noexcept override { return true; }
    msghdr& message() noexcept;

    bytes into_;
    iovec piece_;
    msghdr message_;
    sockaddr_storage sender_;
};

class send_operation final : public io_operation {
public:
    send_operation(descriptor* on, const_bytes data, const address& to) noexcept
        : io_operation(on, readiness::writable), data_(data), to_(to) {}
    send_operation(send_operation&& unawaited) noexcept
        : io_operation(std::move(unawaited)), data_(unawaited.data_), to_(unawaited.to_) {}

    const char* name() const noexcept override { return "send"; }
    void resume() const { checked(); }

private:
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool may_queue() const noexcept override { return true; }
    std::string attempted() const override;
    const msghdr& message() noexcept;

    const_bytes data_;
    address to_;  // none: the peer of a connected socket
    iovec piece_;
    msghdr message_;
};

}  // namespace weir::io::detail
