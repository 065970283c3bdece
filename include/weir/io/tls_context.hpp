// SPDX-License-Identifier: MIT
// tls::context: what TLS connections share: certificates, trust, versions, cached sessions.
//
//     auto trust = weir::tls::context::client();  // the system's authorities, TLS 1.2 and above
//     auto site = weir::tls::context::server(
//         {.certificate_file = "chain.pem", .key_file = "key.pem"});
//
// Loops on many threads may share a context; copies are cheap and share the same state.
// Certificates are exchanged without a restart: reload() reads the files again.
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

struct certificate;
namespace detail {
class context_state;
}

enum class version : std::uint8_t { tls12, tls13 };

// Texts and files are in PEM form. Throws io_error for a file that cannot be read, invalid_argument
// for one that is invalid; both name the file. Files are read once.
struct client_options {
    version min_version = version::tls12;
    version max_version = version::tls13;
    // Lists in OpenSSL's notation, by preference: ciphers of TLS 1.2, ciphers of TLS 1.3, and
    // curves. Empty: OpenSSL's own.
    std::string_view ciphers{};        // "ECDHE+AESGCM:ECDHE+CHACHA20"
    std::string_view tls13_ciphers{};  // "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
    std::string_view curves{};         // "X25519:P-256"
    // Trusted authorities. With none of the three: the system's.
    std::string_view ca_file{};
    std::string_view ca_dir{};  // files named by hash, as `openssl rehash` makes them
    std::string_view ca_pem{};
    // Off: any certificate of any host is accepted, also that of an attacker in between.
    bool verify = true;
    // The client's own certificate, followed by its chain, and its key; the key may be in the same
    // text.
    std::string_view certificate_file{};
    std::string_view key_file{};
    std::string_view certificate_pem{};
    std::string_view key_pem{};
    std::string_view key_password{};
    // Application protocols by preference, separated by commas: "h2,http/1.1".
    std::string_view alpn{};
    // For how many hosts sessions are cached, which shorten the next handshake; 0: none.
    std::size_t cached_sessions = 256;
};

enum class client_certificates : std::uint8_t {
    ignored,   // not requested
    accepted,  // requested; if one is sent it must be valid
    required,
};

struct server_options {
    version min_version = version::tls12;
    version max_version = version::tls13;
    // As for clients. Default for TLS 1.2: ECDHE with AES-GCM or ChaCha20, so that the key of the
    // certificate does not open recorded connections.
    std::string_view ciphers{};
    std::string_view tls13_ciphers{};
    std::string_view curves{};
    std::string_view certificate_file{};  // the server's, then the chain
    std::string_view key_file{};          // default: in the same file
    std::string_view certificate_pem{};
    std::string_view key_pem{};
    std::string_view key_password{};
    std::string_view alpn{};  // by preference; a client that offers only others is refused
    tls::client_certificates client_certificates = tls::client_certificates::ignored;
    // Trusted authorities for client certificates; the system's are not used.
    std::string_view ca_file{};
    std::string_view ca_dir{};
    std::string_view ca_pem{};
    // Clients may resume sessions. The state is in their tickets; cached_sessions is for clients
    // without tickets.
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
    // Chooses the context for the host that a client wants: another server context, or none for
    // this one. Called in the handshake, on any thread that accepts. accept throws its errors.
    using host_chooser = std::function<std::optional<context>(std::string_view host)>;

    // Throw invalid_argument or io_error with the option, the file and the cause.
    static context client(const client_options& options = {});
    static context server(const server_options& options);
    static context server(const server_options& options, host_chooser choose);

    // Reads the files of the options again. New handshakes use what they contain now; existing
    // connections go on. Sessions made before are not resumed. Throws as the functions above do,
    // and then the context is as it was. From any thread; reads files, so it may block.
    void reload() const;
    // The same with this certificate in place of the one before.
    void replace_certificate(const certificate& fresh) const;

    bool is_server() const noexcept;
    // Of a client context: the number of hosts with a cached session.
    std::size_t kept_sessions() const;

    const detail::context_state& state() const noexcept { return *state_; }  // for the library

private:
    explicit context(std::shared_ptr<detail::context_state> state) noexcept
        : state_(std::move(state)) {}

    std::shared_ptr<detail::context_state> state_;
};

}  // namespace weir::tls
