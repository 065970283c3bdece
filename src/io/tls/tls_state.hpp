// SPDX-License-Identifier: MIT
// The state of a tls::context, and what OpenSSL needs to set up its connections.
#pragma once

#include "io/tls/context_rules.hpp"
#include "io/tls/session_cache.hpp"
#include "io/tls/tls_openssl.hpp"

#include <weir/io/tls_context.hpp>
#include <weir/io/tls_error.hpp>

#include <memory>
#include <mutex>
#include <string>

namespace weir::tls::detail {

class context_state {
public:
    context_state(context_rules rules, context::host_chooser choose);
    context_state(const context_state&) = delete;
    context_state& operator=(const context_state&) = delete;

    // Of new connections, which keep it.
    std::shared_ptr<SSL_CTX> ssl() const;
    const std::string& alpn() const noexcept { return alpn_; }  // as it goes over the wire
    const context::host_chooser& choose() const noexcept { return choose_; }
    session_cache& sessions() const noexcept { return sessions_; }
    bool is_server() const noexcept { return is_server_; }

    // Each changes nothing if it throws.
    void reload();
    void replace_certificate(const certificate& fresh);

private:
    std::shared_ptr<SSL_CTX> build(const context_rules& rules);
    void use(std::shared_ptr<SSL_CTX> fresh);

    std::mutex reloading_;
    context_rules rules_;  // changed by one reload at a time
    const std::string alpn_;
    const context::host_chooser choose_;
    mutable session_cache sessions_;  // has its own lock
    const bool is_server_;
    mutable std::mutex guard_;
    std::shared_ptr<SSL_CTX> ssl_;  // guarded
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
