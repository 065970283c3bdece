// SPDX-License-Identifier: MIT
// What can be awaited on a socket. Each knows itself as a system call and as an io_uring entry.
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/detail/io_operation.hpp>

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace weir::io::detail {

class read_operation final : public io_operation {
public:
    read_operation(descriptor* on, bytes into) noexcept
        : io_operation(on, readiness::readable), into_(into) {}

    bool ready() noexcept override { return into_.empty() && on() != nullptr; }
    const char* name() const noexcept override { return "read"; }
    std::size_t resume() const { return static_cast<std::size_t>(checked()); }

private:
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool has_drained(int result) const noexcept override {
        return result > 0 && static_cast<std::size_t>(result) < into_.size();
    }

    bytes into_;
};

// Waits without reading.
class readable_operation final : public io_operation {
public:
    explicit readable_operation(descriptor* on) noexcept : io_operation(on, readiness::readable) {}

    const char* name() const noexcept override { return "readable"; }
    void resume() const { checked(); }

private:
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool take(int result) noexcept override {
        result_ = result > 0 ? 0 : result;  // nothing is taken from the socket
        return true;
    }
};

class write_operation final : public io_operation {
public:
    write_operation(descriptor* on, const_bytes data) noexcept
        : io_operation(on, readiness::writable), left_(data) {}

    bool ready() noexcept override { return left_.empty() && on() != nullptr; }
    const char* name() const noexcept override { return "write"; }
    void resume() const { checked(); }

private:
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool take(int result) noexcept override;

    const_bytes left_;
};

class write_parts_operation final : public io_operation {
public:
    write_parts_operation(descriptor* on, std::span<const const_bytes> parts) noexcept
        : io_operation(on, readiness::writable), parts_(parts) {}
    write_parts_operation(write_parts_operation&& unawaited) noexcept
        : io_operation(std::move(unawaited)), parts_(unawaited.parts_) {}

    bool ready() noexcept override { return !next_batch() && on() != nullptr; }
    const char* name() const noexcept override { return "write"; }
    void resume() const { checked(); }

private:
    static constexpr std::size_t batch_size = 8;

    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool take(int result) noexcept override;
    // The pieces for the next system call. False: there is nothing left.
    bool next_batch() noexcept;

    std::span<const const_bytes> parts_;  // not in the batch yet
    std::size_t count_ = 0;
    iovec batch_[batch_size];
    msghdr message_{};
};

class close_write_operation final : public io_operation {
public:
    explicit close_write_operation(descriptor* on) noexcept
        : io_operation(on, readiness::writable) {}

    bool ready() noexcept override;  // it never waits
    const char* name() const noexcept override { return "close_write"; }
    void resume() const { checked(); }

private:
    int attempt() noexcept override { return 0; }
    void prepare(io_uring_sqe&) noexcept override {}
};

class connect_operation final : public io_operation {
public:
    connect_operation(descriptor* on, const address& to) noexcept
        : io_operation(on, readiness::writable), to_(to) {}

    const char* name() const noexcept override { return "connect"; }
    // The number of the error, or 0: connecting by name makes one error of many.
    int resume() const {
        if (result_ == -EINVAL) {
            checked();  // perhaps a misuse, which has an exception of its own
        }
        return -result_;
    }

private:
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    // A Unix listener whose queue is full answers EAGAIN, and no event tells of room.
    bool can_be_awaited() const noexcept override { return to_.is_ip(); }
    bool take(int result) noexcept override {
        result_ = result == -EAGAIN ? -EBUSY : result;
        return true;
    }
    std::string attempted() const override { return "connect to " + to_.text(); }

    const address& to_;
};

address local_address_of(int fd);
address remote_address_of(int fd);
// Both throw io_error with the numbers.
void set_int_option(int fd, int level, int name, int value);
int int_option(int fd, int level, int name);

}  // namespace weir::io::detail
