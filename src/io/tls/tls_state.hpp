// SPDX-License-Identifier: MIT
// What is behind a tls::context, and what OpenSSL calls back.
#pragma once

#include "io/tls/tls_openssl.hpp"
#include "io/tls/tls_sessions.hpp"

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
    mutable session_cache sessions_;  // locks by itself
    bool is_server_;
};

struct engine_callbacks {
    static BIO_METHOD* transport();
    static int verified(int is_good, X509_STORE_CTX* about);
    static int session_made(SSL* ssl, SSL_SESSION* fresh);
    static int hello_came(SSL* ssl, int* alert, void*);
    static int host_asked_for(SSL* ssl, int* alert, void*);
    static int protocols_offered(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                                 const unsigned char* offered, unsigned int offered_size,
                                 void* state);

private:
    static int read(BIO* bio, char* into, std::size_t size, std::size_t* count);
    static int write(BIO* bio, const char* data, std::size_t size, std::size_t* count);
    static long control(BIO* bio, int command, long, void*);
};

// Whom we are and whom we trust, from texts or files.
struct identity_options {
    std::string_view certificate_file, key_file, certificate_pem, key_pem, key_password;
};
struct trust_options {
    std::string_view ca_file, ca_dir, ca_pem;
    bool is_empty() const noexcept { return ca_file.empty() && ca_dir.empty() && ca_pem.empty(); }
};
void load_identity(SSL_CTX& into, const identity_options& from, const std::string& owner);
void load_trust(SSL_CTX& into, const trust_options& from, const std::string& owner);

// For texts from elsewhere in messages: nothing that a terminal obeys, and not too much.
std::string printable(std::string_view text, std::size_t most);
// What the text of a certificate refusal says: the cause, and which names it is for.
std::string describe_refusal(int error, X509* refused, const std::string& host);
// The cause in words, and its kind. `is_established` is after the handshake.
struct described_error {
    tls_failure kind;
    std::string text;
};
described_error describe_library_error(bool is_established, const std::string& refusal);
// Empty if it could be TLS.
std::string describe_foreign_input(std::string_view first);

}  // namespace weir::tls::detail
