// SPDX-License-Identifier: MIT
// One TLS connection without its transport: bytes in, bytes out, and no function waits. The stream
// in weir/io/tls.hpp moves the bytes.
#pragma once

#include <weir/clock.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/detail/tls_buffers.hpp>
#include <weir/io/detail/tls_negotiation.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/io/tls_error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tls::detail {

// The part of a write that is not encrypted yet.
struct unsent_parts {
    io::const_bytes first;
    std::span<const io::const_bytes> rest;

    bool is_empty() noexcept;  // skips empty parts
    void skip(std::size_t count) noexcept;
};

enum class step : std::uint8_t {
    done,
    flush,        // write: there is enough output for now
    needs_input,  // cannot continue before received()
    ended,        // read: the peer's close_notify
    failed,       // rethrow_failure() throws the reason
};

class tls_engine {
public:
    // Throw invalid_argument for an invalid host or option.
    tls_engine(const context& rules, std::string_view host, const connect_options& options);
    tls_engine(const context& rules, std::string peer, const accept_options& options);
    tls_engine(const tls_engine&) = delete;
    tls_engine& operator=(const tls_engine&) = delete;
    ~tls_engine();

    step handshake();
    step read(io::bytes into, std::size_t& count);
    // Encrypts, in records as large as possible, and advances `parts` by what it has taken.
    step write(unsent_parts& parts);
    step close_notify();

    // Input from the transport: read into the room, then report how much; 0 is the transport's end.
    // Only after needs_input, which is never returned again once the transport has ended.
    io::bytes input_room() { return buffers_.input_room(); }
    void received(std::size_t count) noexcept;
    bool has_all_input() const noexcept { return buffers_.has_all_input(); }

    bool has_output() const noexcept { return buffers_.output_size() > 0; }
    void take_output(std::vector<std::byte>& into) noexcept { buffers_.take_output(into); }

    [[noreturn]] void rethrow_failure() const;
    // 'TLS handshake with example.org', 'TLS connection with example.org'.
    std::string attempt() const;

    clock::duration handshake_timeout() const noexcept { return handshake_timeout_; }
    const negotiation& agreed() const noexcept { return negotiation_; }

private:
    step classify(int returned);
    step fail(tls_failure kind, const std::string& why);
    step fail_at_end();
    step fail_in_message();
    step fail_from_library();
    void check_timeout() const;

    io::const_bytes next_record(const unsent_parts& parts);

    tls_buffers buffers_;  // outlives the SSL object that uses it
    negotiation negotiation_;
    std::size_t handshake_input_ = 0;  // bytes received in the handshake
    std::vector<std::byte> plain_;     // collects small parts for one record
    std::array<char, 24> first_input_{};
    std::size_t first_count_ = 0;
    std::exception_ptr failure_;
    std::exception_ptr truncation_;  // ends reading only
    clock::duration handshake_timeout_;
    bool is_tolerant_;
    bool is_established_ = false;
    bool has_ended_ = false;
};

}  // namespace weir::tls::detail
