// SPDX-License-Identifier: MIT
// tls::context: what many TLS connections share: certificates, trust, versions, cached sessions.
//
//     auto trust = weir::tls::context::client();    // the system's authorities, TLS 1.2 and above
//     auto site = weir::tls::context::server({.certificate_file = "chain.pem", .key_file = "key.pem"});
//
// Nothing about a context changes once it is made, so loops on many threads may share one; copies
// are cheap and are the same context.
#pragma once

#include <weir/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace weir::tls {

namespace detail {
class context_state;
}

enum class version : std::uint8_t { tls12, tls13 };

// Of texts and files in PEM form. A file that cannot be read throws io_error, and one that makes no
// sense throws invalid_argument; both name the file. Nothing is read again later.
struct client_options {
    version min_version = version::tls12;
    version max_version = version::tls13;
    // Whom to trust. With none of the three: the system's authorities.
    std::string_view ca_file{};
    std::string_view ca_dir{};  // of files named by hash, as `openssl rehash` makes them
    std::string_view ca_pem{};
    // Off: any certificate of any host is accepted, and so is whoever sits in between.
    bool verify = true;
    // A certificate of our own, its chain after it, and its key; the key may be in the same text.
    std::string_view certificate_file{};
    std::string_view key_file{};
    std::string_view certificate_pem{};
    std::string_view key_pem{};
    std::string_view key_password{};
    // Application protocols by preference, separated by commas: "h2,http/1.1".
    std::string_view alpn{};
    // For so many hosts, what it takes to shorten the next handshake is kept; 0: never.
    std::size_t cached_sessions = 256;
};

enum class client_certificates : std::uint8_t {
    ignored,   // not asked for
    accepted,  // asked for; one that is sent must be valid
    required,
};

struct server_options {
    version min_version = version::tls12;
    version max_version = version::tls13;
    std::string_view certificate_file{};  // ours, then the chain
    std::string_view key_file{};          // default: in the same file
    std::string_view certificate_pem{};
    std::string_view key_pem{};
    std::string_view key_password{};
    std::string_view alpn{};  // by preference; a client that offers only others is refused
    tls::client_certificates client_certificates = tls::client_certificates::ignored;
    // Whom to trust with certificates of clients; the system's authorities are not meant.
    std::string_view ca_file{};
    std::string_view ca_dir{};
    std::string_view ca_pem{};
    // Clients may resume; the state is in their tickets, and here for so many that know no tickets.
    bool resumption = true;
    std::size_t cached_sessions = 1024;
};

// Of one connection, as client.
struct connect_options {
    // For the complete handshake; clock::duration::max() for no limit. Throws timed_out.
    clock::duration handshake_timeout = std::chrono::seconds(10);
    // Must the certificate be for this host? Off: any certificate by a trusted authority will do.
    bool check_host = true;
    bool resume = true;  // a cached session, if the context has one
    // Treat an end without close_notify as an end: for old peers whose protocol has lengths.
    bool tolerate_truncation = false;
};

// Of one connection, as server.
struct accept_options {
    clock::duration handshake_timeout = std::chrono::seconds(10);
    bool tolerate_truncation = false;
};

class context {
public:
    // Which certificates for the host that a client asks for: another server context, or none for
    // this one's own. Called in the handshake, on any thread that accepts. What it throws, accept
    // throws.
    using host_chooser = std::function<std::optional<context>(std::string_view host)>;

    // Throw invalid_argument or io_error naming option, file and cause.
    static context client(const client_options& options = {});
    static context server(const server_options& options);
    static context server(const server_options& options, host_chooser choose);

    bool is_server() const noexcept;
    // Of a client: for how many hosts there is a session now.
    std::size_t kept_sessions() const;

    const detail::context_state& state() const noexcept { return *state_; }  // for the library

private:
    friend class detail::context_state;
    explicit context(std::shared_ptr<const detail::context_state> state) noexcept
        : state_(std::move(state)) {}

    std::shared_ptr<const detail::context_state> state_;
};

}  // namespace weir::tls
