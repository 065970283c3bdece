// SPDX-License-Identifier: MIT
// The operations of an end: each asks its connection, and hangs itself there if it has to wait.

#include "testing/io/connection.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <cerrno>
#include <cstring>

namespace weir::testing {

namespace sim {

stream_operation::~stream_operation() {
    leave();
}

void stream_operation::leave() noexcept {
    if (place_ != nullptr) {
        *place_ = nullptr;
        place_ = nullptr;
    }
}

bool stream_operation::cancel() noexcept {
    leave();
    return true;
}

void stream_operation::fail() const {
    const std::string call = name() + std::strlen("simulated_stream.");
    const std::string& peer = end_.of->name(1 - end_.side);
    const std::string attempt = (call == "read"    ? "read from "
                                 : call == "write" ? "write to "
                                                   : "close_write to ") +
                                peer;
    if (error_ == already_used) {
        throw invalid_state(attempt + ": another task is doing that already");
    }
    if (error_ == closed_here) {
        throw io_error(ECANCELED, attempt + ": the stream was closed");
    }
    throw io_error(error_, attempt);
}

bool read_operation::ready() noexcept {
    return end_.of->try_read(*this, end_.side);
}
bool read_operation::start() noexcept {
    end_.of->wait_to_read(*this, end_.side);
    return true;
}
bool write_operation::ready() noexcept {
    return end_.of->try_write(*this, end_.side);
}
bool write_operation::start() noexcept {
    end_.of->wait_to_write(*this, end_.side);
    return true;
}
bool close_write_operation::ready() noexcept {
    error_ = end_.of->close_write(end_.side);
    return true;
}

}  // namespace sim

void simulated_stream::close() noexcept {
    if (end_.of != nullptr) {
        end_.of->close(end_.side, false);
    }
}

void simulated_stream::reset() noexcept {
    if (end_.of != nullptr) {
        end_.of->close(end_.side, true);
    }
}

bool simulated_stream::is_open() const noexcept {
    return end_.of != nullptr && end_.of->is_open(end_.side);
}

std::string simulated_stream::local_address() const {
    return end("local_address").of->name(end_.side);
}

std::string simulated_stream::remote_address() const {
    return end("remote_address").of->name(1 - end_.side);
}

sim::end_reference simulated_stream::end(const char* call) const {
    if (end_.of == nullptr) {
        throw invalid_state(std::string("simulated_stream: ") + call +
                            " of one that was moved from or never connected");
    }
    return end_;
}

}  // namespace weir::testing
