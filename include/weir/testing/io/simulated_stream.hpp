// SPDX-License-Identifier: MIT
// One end of a simulated connection: an io::byte_stream, with the errors of a TCP socket.
//
// It behaves as a real socket: closing with unread bytes resets the connection; bytes that arrive
// at a closed end are answered with a reset; a reset may lose bytes that the other end has not
// read; a write returns when the bytes fit into the window, not when they are read.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/result.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace weir::testing {

class simulated_stream;

namespace sim {

class connection;
class pipe;

// One end of a connection.
struct end_reference {
    std::shared_ptr<connection> link;
    int side = 0;
};

// Base of the operations: they complete at once, or wait in the connection until it serves them.
class stream_operation : public operation {
public:
    bool cancel() noexcept override;

protected:
    enum class beginning : unsigned char { usual, failed, stopped };  // after a test's fault

    explicit stream_operation(end_reference end) noexcept : end_(std::move(end)) {}
    stream_operation(stream_operation&& unawaited) noexcept
        : operation(), end_(std::move(unawaited.end_)) {}
    ~stream_operation();
    [[noreturn]] void fail() const;
    void check() const {
        if (error_ != 0) {
            fail();
        }
    }

    // 0 or an errno; throws for mistakes of the program alone.
    int unthrown() const;

    end_reference end_;
    stream_operation** place_ = nullptr;  // the pointer to this operation while it waits
    int error_ = 0;                       // an errno, or one of the codes in connection.hpp
    bool was_asked_ = false;              // about a fault

private:
    friend class connection;
    friend class pipe;
    void leave() noexcept;
};

// Waits for bytes; takes them, or only waits for their arrival.
class reading_operation : public stream_operation {
public:
    bool ready() noexcept override;
    bool start() noexcept override;

protected:
    reading_operation(end_reference end, io::bytes into, bool takes) noexcept
        : stream_operation(std::move(end)), into_(into), takes_(takes) {}
    reading_operation(end_reference end, std::span<const io::bytes> parts) noexcept
        : stream_operation(std::move(end)), rest_(parts), takes_(true) {}
    reading_operation(reading_operation&&) noexcept = default;
    ~reading_operation() = default;

    beginning ask_for_fault() noexcept;
    // The first buffer with room; the others are in rest_.
    io::bytes next_part() noexcept;

    io::bytes into_;
    std::span<const io::bytes> rest_;
    std::size_t count_ = 0;
    bool takes_;

private:
    friend class connection;
};

class read_operation : public reading_operation {
public:
    read_operation(end_reference end, io::bytes into) noexcept
        : reading_operation(std::move(end), into, true) {}
    read_operation(end_reference end, std::span<const io::bytes> parts) noexcept
        : reading_operation(std::move(end), parts) {}
    read_operation(read_operation&&) noexcept = default;
    const char* name() const noexcept override { return "read"; }

protected:
    ~read_operation() = default;
    std::size_t thrown() const {
        check();
        return count_;
    }
    io::result<std::size_t> returned() const {
        const int error = unthrown();
        return error == 0 ? io::result<std::size_t>(count_)
                          : io::result<std::size_t>::from_error(error, "read");
    }
};

class WEIR_MUST_AWAIT readable_operation final : public reading_operation {
public:
    explicit readable_operation(end_reference end) noexcept
        : reading_operation(std::move(end), {}, false) {}
    const char* name() const noexcept override { return "readable"; }
    void resume() const { check(); }
};

class write_operation : public stream_operation {
public:
    write_operation(end_reference end, io::const_bytes data) noexcept
        : stream_operation(std::move(end)), first_(data) {}
    write_operation(end_reference end, std::span<const io::const_bytes> parts) noexcept
        : stream_operation(std::move(end)), rest_(parts) {}
    write_operation(write_operation&&) noexcept = default;

    bool ready() noexcept override;
    bool start() noexcept override;
    const char* name() const noexcept override { return "write"; }

protected:
    ~write_operation() = default;
    void thrown() const { check(); }
    io::result<> returned() const {
        const int error = unthrown();
        return error == 0 ? io::result<>() : io::result<>::from_error(error, "write");
    }

private:
    friend class connection;
    friend class pipe;
    bool send() noexcept;  // as much as there is room for; true: everything
    beginning ask_for_fault() noexcept;

    io::const_bytes first_;  // then the rest
    std::span<const io::const_bytes> rest_;
};

class WEIR_MUST_AWAIT closure_operation final : public stream_operation {
public:
    explicit closure_operation(end_reference end) noexcept : stream_operation(std::move(end)) {}
    closure_operation(closure_operation&&) noexcept = default;

    bool ready() noexcept override;
    bool start() noexcept override;
    const char* name() const noexcept override { return "until_peer_closes"; }
    void resume() const { check(); }
};

class WEIR_MUST_AWAIT close_write_operation final : public stream_operation {
public:
    explicit close_write_operation(end_reference end) noexcept : stream_operation(std::move(end)) {}
    close_write_operation(close_write_operation&&) noexcept = default;

    bool ready() noexcept override;
    bool start() noexcept override { return false; }
    const char* name() const noexcept override { return "close_write"; }
    void resume() const { check(); }
};

}  // namespace sim

// Made by simulated_network. Move-only; destroying it closes it.
class simulated_stream {
public:
    simulated_stream() noexcept = default;
    simulated_stream(simulated_stream&&) noexcept = default;
    simulated_stream& operator=(simulated_stream&& other) noexcept {
        simulated_stream old(std::move(*this));
        end_ = std::move(other.end_);
        return *this;
    }
    ~simulated_stream() { close(); }

    // io/byte_stream.hpp has the contract. The arguments are not copied.
    io::detail::throwing<sim::read_operation> read(io::bytes into) { return {end("read"), into}; }
    io::detail::throwing<sim::read_operation> read(std::span<const io::bytes> parts) {
        return {end("read"), parts};
    }
    io::detail::throwing<sim::write_operation> write(io::const_bytes data) {
        return {end("write"), data};
    }
    io::detail::throwing<sim::write_operation> write(std::span<const io::const_bytes> parts) {
        return {end("write"), parts};
    }
    // The same with errors as values: weir/io/result.hpp.
    io::detail::resulting<sim::read_operation> read(io::bytes into, io::as_result_form) {
        return {end("read"), into};
    }
    io::detail::resulting<sim::read_operation> read(std::span<const io::bytes> parts,
                                                    io::as_result_form) {
        return {end("read"), parts};
    }
    io::detail::resulting<sim::write_operation> write(io::const_bytes data, io::as_result_form) {
        return {end("write"), data};
    }
    io::detail::resulting<sim::write_operation> write(std::span<const io::const_bytes> parts,
                                                      io::as_result_form) {
        return {end("write"), parts};
    }
    sim::close_write_operation close_write() {
        return sim::close_write_operation(end("close_write"));
    }
    // Waits until there is data to read, or the end, or an error.
    sim::readable_operation readable() { return sim::readable_operation(end("readable")); }
    // What the peer has closed, as far as the news of it has arrived.
    io::closure peer_closure() const noexcept;
    sim::closure_operation until_peer_closes() {
        return sim::closure_operation(end("until_peer_closes"));
    }
    void close() noexcept;
    // Closes with a reset, as a socket with SO_LINGER of 0 does.
    void reset() noexcept;

    bool is_open() const noexcept;
    std::string local_address() const;   // 'client:49152'
    std::string remote_address() const;  // 'server:80'

private:
    friend class simulated_network;
    friend class sim::connection;
    explicit simulated_stream(sim::end_reference end) noexcept : end_(std::move(end)) {}
    sim::end_reference end(const char* call) const;

    sim::end_reference end_;
};

}  // namespace weir::testing
