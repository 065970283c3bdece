// SPDX-License-Identifier: MIT
// Moves bytes between a TLS engine and its transport, for one reader and one writer at a time.
// src/io/tls/tls_engine.cpp explains how the two share the engine.
#pragma once

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/detail/tls_engine.hpp>
#include <weir/io/error.hpp>
#include <weir/scope.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/task.hpp>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace weir::tls::detail {

// One task at a time may read, and one may write. Throws invalid_state for a second one.
class sole_use {
public:
    sole_use(bool& in_use, const tls_engine& machine, const char* verb) : in_use_(in_use) {
        if (in_use) {
            throw invalid_state(machine.attempt() + ": two tasks " + verb + " at once");
        }
        in_use = true;
    }
    sole_use(const sole_use&) = delete;
    sole_use& operator=(const sole_use&) = delete;
    ~sole_use() { in_use_ = false; }

private:
    bool& in_use_;
};

// The coroutines keep the session alive: the stream may be destroyed while they wait.
template <class Stream>
class session {
public:
    using pointer = std::shared_ptr<session>;

    template <class... Args>
    explicit session(Stream&& under, Args&&... args)
        : transport(std::move(under)), machine(std::forward<Args>(args)...) {}

    Stream transport;
    tls_engine machine;

    static task<std::size_t> read(pointer self, io::bytes into) {
        if (into.empty()) {
            co_return 0;
        }
        const sole_use reading(self->is_reading_, self->machine, "read");
        for (;;) {
            self->check_open();
            std::size_t count = 0;
            const std::uint64_t seen = self->arrivals_;
            const step result = self->machine.read(into, count);
            if (result == step::done || result == step::ended) {
                co_return count;
            }
            if (result == step::failed) {
                co_await self->reply();
                self->machine.rethrow_failure();
            }
            if (self->machine.has_output()) {
                co_await shield(self->reply());
            }
            co_await self->receive(seen);
        }
    }

    static task<> write(pointer self, unsent_parts left) {
        const sole_use writing(self->is_writing_, self->machine, "write");
        self->check_writable();
        if (left.is_empty()) {
            co_return;
        }
        const mutex::guard turn = co_await self->sending_.lock();
        self->check_writable();
        for (;;) {
            const std::uint64_t seen = self->arrivals_;
            const step result = self->machine.write(left);
            if (self->machine.has_output()) {
                self->writing_ = phase::unfinished;
            }
            if (result == step::failed) {
                co_await self->flush_briefly();
                self->machine.rethrow_failure();
            }
            co_await self->flush();
            if (result == step::done) {
                break;
            }
            if (result == step::needs_input) {
                co_await self->receive(seen);
                self->check_open();
            }
        }
        self->writing_ = phase::open;
    }

    static task<> end_writing(pointer self) {
        const sole_use writing(self->is_writing_, self->machine, "write");
        if (self->writing_ == phase::ended) {
            co_return;
        }
        self->check_writable();
        const mutex::guard turn = co_await self->sending_.lock();
        self->check_writable();
        for (;;) {
            const std::uint64_t seen = self->arrivals_;
            const step result = self->machine.close_notify();
            if (result == step::failed) {
                self->machine.rethrow_failure();
            }
            if (result == step::done) {
                break;
            }
            co_await self->receive(seen);
            self->check_open();
        }
        self->writing_ = phase::unfinished;
        co_await self->flush();
        self->writing_ = phase::ended;
    }

    task<> handshake() {
        for (;;) {
            const step result = machine.handshake();
            if (result == step::failed) {
                co_await flush_briefly();  // sends the peer an alert
                machine.rethrow_failure();
            }
            std::exception_ptr broken;
            try {
                co_await flush();
            } catch (const std::exception&) {
                broken = std::current_exception();
            }
            if (broken != nullptr) {
                co_await read_reason(broken);
            }
            if (result == step::done) {
                writing_ = phase::open;
                co_return;
            }
            co_await receive(arrivals_);
        }
    }

    void close() noexcept {
        is_closed_ = true;
        transport.close();
    }

private:
    enum class phase : std::uint8_t {
        open,
        unfinished,  // in flight or abandoned: a record may have been sent in part
        ended,       // close_notify is sent
    };

    // Sends all output. The lock `sending` is held, or no other task uses the session yet.
    task<> flush() {
        while (machine.has_output()) {
            machine.take_output(in_flight_);
            is_torn_ = true;
            co_await transport.write(io::const_bytes(in_flight_));
            is_torn_ = false;
        }
    }

    // Sends output that reading has caused. If another task holds the lock, that task sends it.
    task<> reply() {
        if (const auto turn = sending_.try_lock(); turn.has_value()) {
            co_await flush_briefly();
        }
    }

    // For output that only informs the peer: it may take a second at most, and may fail. Nothing is
    // sent after an incomplete record, since the peer could not decrypt it.
    task<> flush_briefly() {
        if (is_closed_ || is_torn_ || !machine.has_output()) {
            co_return;
        }
        const phase before = std::exchange(writing_, phase::unfinished);
        bool is_sent = false;
        try {
            cancel_scope limit(std::chrono::seconds(1));
            is_sent = co_await limit.run(flush());
        } catch (const std::exception&) {
        }
        if (is_sent) {
            writing_ = before;
        }
    }

    // Waits until the transport has delivered more input than `seen`.
    task<> receive(std::uint64_t seen) {
        const mutex::guard turn = co_await receiving_.lock();
        if (arrivals_ != seen || is_closed_) {
            co_return;
        }
        const std::size_t count = co_await transport.read(machine.input_room());
        machine.received(count);
        ++arrivals_;
    }

    // The transport refused the output of the handshake. A peer that ended the connection has sent
    // the reason in TLS; that is the better error if it can still be read.
    task<> read_reason(std::exception_ptr broken) {
        for (;;) {
            const outcome<> came = co_await settle(receive(arrivals_));
            if (!came.has_value() || machine.has_all_input()) {
                std::rethrow_exception(broken);
            }
            const step result = machine.handshake();
            if (result == step::failed) {
                machine.rethrow_failure();
            }
        }
    }

    void check_open() const {
        if (is_closed_) {
            throw io_error(ECANCELED, machine.attempt() + ": the stream was closed");
        }
    }
    void check_writable() const {
        check_open();
        if (writing_ == phase::unfinished) {
            throw io_error(EPIPE, machine.attempt() +
                                      ": an earlier write did not finish, and a part of a record "
                                      "may have been sent");
        }
        if (writing_ == phase::ended) {
            throw io_error(EPIPE, machine.attempt() + ": write after close_write");
        }
    }

    mutex sending_;
    mutex receiving_;
    std::vector<std::byte> in_flight_;
    std::uint64_t arrivals_ = 0;
    phase writing_ = phase::open;
    bool is_reading_ = false;
    bool is_writing_ = false;
    bool is_closed_ = false;
    bool is_torn_ = false;  // a write of the transport is in flight, or was stopped
};

}  // namespace weir::tls::detail
