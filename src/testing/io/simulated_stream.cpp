// SPDX-License-Identifier: MIT
// The operations of a stream: each tries at its connection, and waits there if it cannot complete.

#include "testing/io/connection.hpp"

#include <weir/base/fault_point.hpp>
#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <cerrno>

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
    const std::string call = name();
    if (error_ == already_used) {
        throw invalid_state(call + ": another task does the same already");
    }
    if (error_ == already_closed) {
        throw io_error(EBADF, call + " on what is closed");
    }
    if (error_ == closed_meanwhile) {
        throw io_error(ECANCELED, call + ", which was closed meanwhile");
    }
    const bool writes = call == "write" || call == "close_write";
    throw io_error(error_, call + (writes ? " to " : " from ") + end_.link->name(1 - end_.side));
}

int stream_operation::unthrown() const {
    switch (error_) {
        case already_used:
            fail();
        case already_closed:
            return EBADF;
        case closed_meanwhile:
            return ECANCELED;
        default:
            return error_;
    }
}

io::bytes reading_operation::next_part() noexcept {
    while (into_.empty() && !rest_.empty()) {
        into_ = rest_.front();
        rest_ = rest_.subspan(1);
    }
    return into_;
}

// Asked once, when the operation begins.
stream_operation::beginning reading_operation::ask_for_fault() noexcept {
    if (!takes_ || std::exchange(was_asked_, true)) {
        return beginning::usual;
    }
    const weir::detail::fault_answer fault = weir::detail::fault_at(io_point::read, "read", true);
    if (fault.cut_short && !next_part().empty()) {
        into_ = into_.first(1);
        rest_ = {};
    }
    if (fault.error != 0) {
        end_.link->cut();
        error_ = fault.error;
        return beginning::failed;
    }
    return fault.stops ? beginning::stopped : beginning::usual;
}

bool reading_operation::ready() noexcept {
    if (weir::detail::this_thread.faults != nullptr) [[unlikely]] {
        if (const beginning how = ask_for_fault(); how != beginning::usual) {
            return how == beginning::failed;
        }
    }
    return end_.link->try_read(*this, end_.side);
}
bool reading_operation::start() noexcept {
    end_.link->wait_to_read(*this, end_.side);
    return true;
}
stream_operation::beginning write_operation::ask_for_fault() noexcept {
    if (std::exchange(was_asked_, true)) {
        return beginning::usual;
    }
    const weir::detail::fault_answer fault = weir::detail::fault_at(io_point::write, "write", true);
    if (fault.cut_short) {
        while (first_.empty() && !rest_.empty()) {
            first_ = rest_.front();
            rest_ = rest_.subspan(1);
        }
        first_ = first_.first(first_.size() / 2);
        rest_ = {};
        end_.link->try_write(*this, end_.side);
        end_.link->break_off(end_.side);
    } else if (fault.error != 0) {
        end_.link->cut();
    }
    if (fault.cut_short || fault.error != 0) {
        error_ = fault.error != 0 ? fault.error : ECONNRESET;
        return beginning::failed;
    }
    return fault.stops ? beginning::stopped : beginning::usual;
}

bool write_operation::ready() noexcept {
    if (weir::detail::this_thread.faults != nullptr) [[unlikely]] {
        if (const beginning how = ask_for_fault(); how != beginning::usual) {
            return how == beginning::failed;
        }
    }
    return end_.link->try_write(*this, end_.side);
}
bool write_operation::start() noexcept {
    end_.link->wait_to_write(*this, end_.side);
    return true;
}
bool closure_operation::ready() noexcept {
    return end_.link->try_closure(*this, end_.side);
}
bool closure_operation::start() noexcept {
    end_.link->wait_for_closure(*this, end_.side);
    return true;
}
bool close_write_operation::ready() noexcept {
    error_ = end_.link->close_write(end_.side);
    return true;
}

}  // namespace sim

io::closure simulated_stream::peer_closure() const noexcept {
    return end_.link != nullptr ? end_.link->closure_at(end_.side) : io::closure::both;
}

void simulated_stream::close() noexcept {
    if (end_.link != nullptr) {
        end_.link->close(end_.side, false);
    }
}

void simulated_stream::reset() noexcept {
    if (end_.link != nullptr) {
        end_.link->close(end_.side, true);
    }
}

bool simulated_stream::is_open() const noexcept {
    return end_.link != nullptr && end_.link->is_open(end_.side);
}

std::string simulated_stream::local_address() const {
    return end("local_address").link->name(end_.side);
}

std::string simulated_stream::remote_address() const {
    return end("remote_address").link->name(1 - end_.side);
}

sim::end_reference simulated_stream::end(const char* call) const {
    if (end_.link == nullptr) {
        throw invalid_state(std::string("simulated_stream: ") + call +
                            " of one that was moved from or never connected");
    }
    return end_;
}

}  // namespace weir::testing
