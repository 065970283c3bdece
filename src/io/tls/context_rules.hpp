// SPDX-License-Identifier: MIT
// The options of a tls::context in texts of its own, and the SSL_CTX that they mean. A context is
// made from them again when its files have changed.
#pragma once

#include "io/tls/tls_openssl.hpp"

#include <weir/io/tls_context.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir::tls::detail {

// Our certificate and its key; the trusted authorities. From texts or files.
struct identity_source {
    std::string certificate_file, key_file, certificate_pem, key_pem, key_password;
};
struct trust_source {
    std::string ca_file, ca_dir, ca_pem;
    bool is_empty() const noexcept { return ca_file.empty() && ca_dir.empty() && ca_pem.empty(); }
};

struct context_rules {
    // Throw invalid_argument for options that contradict one another.
    explicit context_rules(const client_options& options);
    explicit context_rules(const server_options& options);

    // Reads the files. Throws io_error and invalid_argument with the option, the file and the
    // cause.
    ssl_context_pointer build() const;

    bool is_server;
    version min_version;
    version max_version;
    std::string ciphers, tls13_ciphers, curves;
    identity_source identity;
    trust_source trust;
    bool verify;                      // of a client: check the server's certificate
    client_certificates from_client;  // of a server
    std::string alpn;                 // as it goes over the wire
    std::size_t cached_sessions;
    bool resumption;
    std::uint64_t number;  // of a server: sessions are valid only for the context of this number

private:
    const char* owner() const noexcept {
        return is_server ? "tls::context::server" : "tls::context::client";
    }
    void set_algorithms(SSL_CTX& into) const;
    void set_client_rules(SSL_CTX& into) const;
    void set_server_rules(SSL_CTX& into) const;
};

void load_identity(SSL_CTX& into, const identity_source& from, const std::string& owner);
void load_trust(SSL_CTX& into, const trust_source& from, const std::string& owner);

}  // namespace weir::tls::detail
