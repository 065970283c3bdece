// SPDX-License-Identifier: MIT
// A socket that accepts connections.
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/socket.hpp>

#include <utility>

namespace weir::io {

namespace detail {

class accept_operation : public io_operation {
public:
    explicit accept_operation(descriptor* target) noexcept
        : io_operation(target, io_event::readable) {}
    accept_operation(accept_operation&&) noexcept = default;

    const char* name() const noexcept override { return "accept"; }

protected:
    ~accept_operation();
    socket thrown() {
        checked();
        return socket(std::exchange(accepted_, -1), true);
    }
    result<socket> returned() {
        if (const int error = unthrown(); error < 0) {
            return result<socket>::from_error(-error, "accept");
        }
        return result<socket>(thrown());
    }

private:
    io_point point() const noexcept override { return io_point::accept; }
    int attempt() noexcept override;
    void prepare(io_uring_sqe& entry) noexcept override;
    bool take(int result) noexcept override;
    bool may_queue() const noexcept override { return true; }

    int accepted_ = -1;
};

}  // namespace detail

struct listen_options {
    int backlog = 4096;         // connections that wait for accept(); the system may allow fewer
    bool reuse_address = true;  // bind although old connections are in TIME_WAIT
    bool reuse_port = false;    // several listeners share the port, each with its own queue
    bool only_v6 = false;       // an IPv6 listener accepts no IPv4 connections
};

class listener {
public:
    listener() noexcept = default;  // closed
    // Takes ownership of a listening socket.
    explicit listener(int fd) : own_(new detail::descriptor(fd)) {}

    // co_await returns the next connection. Several tasks may wait. A cancelled one has taken none.
    // Throws io_error; after EMFILE and the like it may be tried again.
    detail::throwing<detail::accept_operation> accept() noexcept {
        return detail::throwing<detail::accept_operation>(own_.get());
    }
    // The same with errors as values.
    detail::resulting<detail::accept_operation> accept(as_result_form) noexcept {
        return detail::resulting<detail::accept_operation>(own_.get());
    }
    // Waiting tasks get an io_error (ECANCELED).
    void close() noexcept { own_.reset(); }

    bool is_open() const noexcept { return own_ != nullptr; }
    int fd() const noexcept { return own_ != nullptr ? own_->fd() : -1; }
    // Gives the descriptor up, for another loop or process. Throws invalid_state while tasks
    // accept.
    int release();
    address local_address() const;  // with the port that the system chose

private:
    detail::owned_descriptor own_;
};

// Port 0 lets the system choose. Throws io_error: 'listen on 127.0.0.1:80: Address already in use'.
// A Unix socket's file is removed first if no process listens on it.
listener listen(const address& at, const listen_options& options = {});

}  // namespace weir::io
