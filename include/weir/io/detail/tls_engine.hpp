// SPDX-License-Identifier: MIT
// One TLS connection without its transport: bytes in, bytes out, nothing waits. The stream in
// weir/io/tls.hpp moves the bytes.
#pragma once

#include <weir/clock.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/io/tls_error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct ssl_st;

namespace weir::tls {

struct connect_options {
    // For the whole handshake; clock::duration::max() for no limit. timed_out is thrown.
    clock::duration handshake_timeout = std::chrono::seconds(10);
    // Is the certificate one for this host? Off: any that the authorities vouch for.
    bool check_host = true;
    bool resume = true;  // with a cached session, if there is one
    // Take an end without close_notify for an end: for old peers whose protocol tells the length.
    bool tolerate_truncation = false;
};

struct accept_options {
    clock::duration handshake_timeout = std::chrono::seconds(10);
    bool tolerate_truncation = false;
};

namespace detail {

// What is left to be encrypted of a write.
struct unsent_parts {
    io::const_bytes first;
    std::span<const io::const_bytes> rest;

    bool is_empty() noexcept;  // passes over empty parts
    void skip(std::size_t count) noexcept;
};

enum class step : std::uint8_t {
    done,
    flush,        // write: there is enough output for now
    needs_input,  // cannot go on before received()
    ended,        // read: the peer's close_notify
    failed,       // rethrow_failure() says why
};

class engine {
public:
    // Throw invalid_argument for a host or an option that makes no sense.
    engine(const context& with, std::string_view host, const connect_options& options);
    engine(const context& with, std::string peer, const accept_options& options);
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;
    ~engine();

    step handshake();
    step read(io::bytes into, std::size_t& count);
    // Encrypts, in records as large as can be; advances what it has taken.
    step write(unsent_parts& from);
    step close_notify();

    // What came from the transport: read into the room, then say how much; 0 is its end. Only after
    // needs_input, which never comes again once the transport has ended.
    io::bytes input_room();
    void received(std::size_t count) noexcept;
    bool has_all_input() const noexcept { return has_all_input_; }

    // What is to go to the transport. Taking swaps, so that output can be added while it is sent.
    bool has_output() const noexcept { return !output_.empty(); }
    void take_output(std::vector<std::byte>& into) noexcept {
        into.clear();
        into.swap(output_);
    }

    [[noreturn]] void rethrow_failure() const;
    // 'TLS handshake with example.org', 'TLS connection with example.org'.
    std::string attempt() const;

    clock::duration handshake_timeout() const noexcept { return handshake_timeout_; }
    bool was_resumed() const noexcept;
    std::string_view alpn() const noexcept;
    std::string_view version() const noexcept;
    std::string_view cipher() const noexcept;
    std::string peer_subject() const;
    std::string_view server_name() const noexcept;

private:
    friend struct engine_callbacks;

    engine(const context& with, std::string peer, clock::duration timeout, bool tolerant);
    void expect_host(const std::string& host, bool check);
    step take_answer(int returned);
    step fail(tls_failure kind, const std::string& why);
    step fail_at_end();
    step fail_in_message();
    step fail_from_library();

    io::const_bytes next_record(const unsent_parts& from);

    context context_;
    std::optional<context> chosen_;  // for the host that the client asked for
    ssl_st* ssl_ = nullptr;
    std::string peer_;         // the host, or the client's address
    std::string session_key_;  // empty: sessions are not kept
    std::vector<std::byte> input_;
    std::size_t input_begin_ = 0;
    std::size_t input_end_ = 0;
    std::size_t handshake_input_ = 0;
    std::vector<std::byte> output_;
    std::vector<std::byte> plain_;  // small parts on their way into one record
    std::string refusal_;           // why the certificate was refused
    std::array<char, 24> first_input_{};
    std::size_t first_count_ = 0;
    std::exception_ptr failure_;
    std::exception_ptr truncation_;  // ends reading only
    clock::duration handshake_timeout_;
    bool is_tolerant_;
    bool is_established_ = false;
    bool offered_session_ = false;
    bool has_all_input_ = false;
    bool has_ended_ = false;
};

}  // namespace detail
}  // namespace weir::tls
