// SPDX-License-Identifier: MIT
// What a TLS handshake is to agree on, and what it has agreed on.
#pragma once

#include <weir/io/tls_context.hpp>

#include <exception>
#include <optional>
#include <string>
#include <string_view>

struct ssl_st;

namespace weir::tls::detail {

// Owns the SSL object of a connection, and answers what OpenSSL asks during the handshake: is the
// certificate accepted, which host does the client want, where does a new session go.
class negotiation {
public:
    // As client. Throws invalid_argument if the host is neither a name nor an address.
    negotiation(const context& rules, std::string_view host, const connect_options& options);
    // As server; `peer` names the client in messages.
    negotiation(const context& rules, std::string peer);
    negotiation(const negotiation&) = delete;
    negotiation& operator=(const negotiation&) = delete;
    ~negotiation();

    ssl_st& ssl() const noexcept { return *ssl_; }
    const std::string& peer() const noexcept { return peer_; }  // the host, or the client's address

    // Why the certificate was refused; empty if it was not.
    const std::string& refusal() const noexcept { return refusal_; }
    // The exception that a callback ended with; null if there was none.
    const std::exception_ptr& failure() const noexcept { return failure_; }
    // Drops the cached sessions of the host, if one of them was offered.
    void forget_session();

    bool was_resumed() const noexcept;
    std::string_view alpn() const noexcept;
    std::string_view version() const noexcept;
    std::string_view cipher() const noexcept;
    std::string peer_subject() const;
    std::string_view server_name() const noexcept;

private:
    friend struct negotiation_callbacks;

    void expect_host(bool check);

    context context_;
    std::optional<context> chosen_;  // for the host that the client wants
    ssl_st* ssl_;
    std::string peer_;
    std::string session_key_;  // empty: sessions are not cached
    bool offered_session_ = false;
    std::string refusal_;
    std::exception_ptr failure_;
};

}  // namespace weir::tls::detail
