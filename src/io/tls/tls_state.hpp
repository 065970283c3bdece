// SPDX-License-Identifier: MIT
// The state of a tls::context, and what OpenSSL needs to set up its connections.
#pragma once

#include "io/tls/session_cache.hpp"
#include "io/tls/tls_openssl.hpp"

#include <weir/io/tls_context.hpp>
#include <weir/io/tls_error.hpp>

#include <string>

namespace weir::tls::detail {

class context_state {
public:
    context_state(ssl_context_pointer ssl, bool is_server, std::string alpn, std::size_t sessions,
                  context::host_chooser choose)
        : ssl_(std::move(ssl)),
          alpn_(std::move(alpn)),
          choose_(std::move(choose)),
          sessions_(sessions),
          is_server_(is_server) {}
    context_state(const context_state&) = delete;
    context_state& operator=(const context_state&) = delete;

    static context wrap(std::shared_ptr<const context_state> state) noexcept {
        return context(std::move(state));
    }

    SSL_CTX* ssl() const noexcept { return ssl_.get(); }
    const std::string& alpn() const noexcept { return alpn_; }  // as it goes over the wire
    const context::host_chooser& choose() const noexcept { return choose_; }
    session_cache& sessions() const noexcept { return sessions_; }
    bool is_server() const noexcept { return is_server_; }

private:
    ssl_context_pointer ssl_;
    std::string alpn_;
    context::host_chooser choose_;
    mutable session_cache sessions_;  // has its own lock
    bool is_server_;
};

// The callbacks of a negotiation, for the SSL_CTX that makes its SSL object.
struct negotiation_callbacks {
    static int certificate_checked(int is_valid, X509_STORE_CTX* store);
    static int session_created(SSL* ssl, SSL_SESSION* fresh);
    static int hello_received(SSL* ssl, int* alert, void*);
    static int server_name_received(SSL* ssl, int* alert, void*);
    static int protocols_offered(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                                 const unsigned char* offered, unsigned int offered_size,
                                 void* state);
};

// Our certificate and the trusted authorities, from texts or files.
struct identity_options {
    std::string_view certificate_file, key_file, certificate_pem, key_pem, key_password;
};
struct trust_options {
    std::string_view ca_file, ca_dir, ca_pem;
    bool is_empty() const noexcept { return ca_file.empty() && ca_dir.empty() && ca_pem.empty(); }
};
void load_identity(SSL_CTX& into, const identity_options& from, const std::string& owner);
void load_trust(SSL_CTX& into, const trust_options& from, const std::string& owner);

// Foreign text for a message: without control characters, at most `most` characters.
std::string printable(std::string_view text, std::size_t most);
// The text of a certificate's refusal: the cause, and the names that it is for.
std::string describe_refusal(int error, X509* refused, const std::string& host);
// OpenSSL's error in words, and its kind. `is_established`: after the handshake.
struct described_error {
    tls_failure kind;
    std::string text;
};
described_error describe_library_error(bool is_established, const std::string& refusal);
// The protocol that the peer seems to speak instead of TLS; empty if it could be TLS.
std::string describe_foreign_input(std::string_view first);

}  // namespace weir::tls::detail
