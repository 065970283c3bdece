// SPDX-License-Identifier: MIT
// A negotiation sets up its SSL object by the rules of a context: the host that a client expects,
// the session it offers, the certificates that a server chooses for a host. OpenSSL's callbacks
// find the negotiation in the SSL object; none lets an exception pass through C code.

#include "io/tls/tls_state.hpp"

#include <weir/error.hpp>
#include <weir/io/detail/tls_negotiation.hpp>

#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <algorithm>

namespace weir::tls::detail {

namespace {

bool is_ip_address(const std::string& host) {
    unsigned char parsed[16];
    return ::inet_pton(AF_INET, host.c_str(), parsed) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), parsed) == 1;
}

// Without the brackets and the zone of an IPv6 address, and without a final dot.
std::string plain_host(std::string_view text) {
    std::string_view host = text;
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    if (host.find(':') != std::string_view::npos) {
        host = host.substr(0, host.find('%'));
    } else if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    const auto is_invalid = [](unsigned char c) { return c <= 0x20 || c >= 0x7f; };
    if (host.empty() || host.size() > 255 || std::any_of(host.begin(), host.end(), is_invalid)) {
        throw invalid_argument("tls::connect: '" + printable(text, 300) +
                               "' is no host: it must be a name in ASCII or an IP address");
    }
    return std::string(host);
}

// The first host name in the client's hello, which OpenSSL has not checked yet. Empty if it has
// none, or an invalid one, which OpenSSL will report.
std::string_view host_in_hello(SSL* ssl) noexcept {
    const unsigned char* data = nullptr;
    std::size_t size = 0;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data, &size) != 1 || size < 5) {
        return {};
    }
    // The length of the list, the kind of the name, the length of the name, the name.
    const std::size_t list = data[0] * 256u + data[1];
    const std::size_t name = data[3] * 256u + data[4];
    if (list + 2 != size || data[2] != TLSEXT_NAMETYPE_host_name || name + 5 > size) {
        return {};
    }
    const std::string_view host(reinterpret_cast<const char*>(data + 5), name);
    return host.find('\0') == std::string_view::npos ? host : std::string_view();
}

negotiation& negotiation_of(const SSL* ssl) noexcept {
    return *static_cast<negotiation*>(SSL_get_app_data(ssl));
}

}  // namespace

negotiation::negotiation(const context& rules, std::string peer)
    : context_(rules),
      ssl_(check_made(SSL_new(rules.state().ssl().get()))),
      peer_(std::move(peer)) {
    SSL_set_app_data(ssl_, this);
    SSL_set_accept_state(ssl_);
}

negotiation::negotiation(const context& rules, std::string_view host,
                         const connect_options& options)
    : negotiation(rules, plain_host(host)) {
    SSL_set_connect_state(ssl_);
    expect_host(options.check_host);
    session_cache& sessions = rules.state().sessions();
    if (sessions.is_on()) {
        session_key_ = peer_ + (options.check_host ? "" : " unchecked");
    }
    if (sessions.is_on() && options.resume) {
        if (const session_pointer cached = sessions.take(session_key_)) {
            offered_session_ = SSL_set_session(ssl_, cached.get()) == 1;
        }
    }
}

negotiation::~negotiation() {
    SSL_free(ssl_);
}

void negotiation::expect_host(bool check) {
    X509_VERIFY_PARAM* expected = SSL_get0_param(ssl_);
    const bool is_ip = is_ip_address(peer_);
    if (!is_ip && SSL_set_tlsext_host_name(ssl_, peer_.c_str()) != 1) {
        throw invalid_argument("tls::connect: '" + peer_ + "' cannot be sent as a server name");
    }
    if (!check) {
        return;
    }
    // A common name is a text for people; browsers do not take it for a host either.
    X509_VERIFY_PARAM_set_hostflags(
        expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    const int is_set = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(expected, peer_.c_str())
                             : X509_VERIFY_PARAM_set1_host(expected, peer_.data(), peer_.size());
    if (is_set != 1) {
        throw invalid_argument("tls::connect: '" + peer_ + "' cannot be checked");
    }
}

void negotiation::forget_session() {
    if (offered_session_) {
        context_.state().sessions().forget(session_key_);
    }
}

bool negotiation::was_resumed() const noexcept {
    return SSL_session_reused(ssl_) == 1;
}
std::string_view negotiation::alpn() const noexcept {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &name, &size);
    return {reinterpret_cast<const char*>(name), size};
}
std::string_view negotiation::version() const noexcept {
    return SSL_get_version(ssl_);
}
std::string_view negotiation::cipher() const noexcept {
    return SSL_get_cipher_name(ssl_);
}
std::string negotiation::peer_subject() const {
    const X509* peer = SSL_get0_peer_certificate(ssl_);
    return peer == nullptr ? std::string() : text_of(X509_get_subject_name(peer));
}
std::string_view negotiation::server_name() const noexcept {
    const char* name = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? std::string_view() : std::string_view(name);
}

// ---- callbacks

int negotiation_callbacks::certificate_checked(int is_valid, X509_STORE_CTX* store) {
    if (is_valid == 1) {
        return 1;
    }
    const auto* ssl = static_cast<const SSL*>(
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    negotiation& self = negotiation_of(ssl);
    try {
        self.refusal_ = describe_refusal(X509_STORE_CTX_get_error(store),
                                         X509_STORE_CTX_get_current_cert(store), self.peer_);
    } catch (...) {  // out of memory: it is refused without a text
    }
    return 0;
}

int negotiation_callbacks::session_created(SSL* ssl, SSL_SESSION* fresh) {
    negotiation& self = negotiation_of(ssl);
    if (!self.session_key_.empty() && SSL_SESSION_is_resumable(fresh) == 1) {
        try {
            if (session_pointer kept{SSL_SESSION_dup(fresh)}) {
                self.context_.state().sessions().put(self.session_key_, std::move(kept));
            }
        } catch (...) {  // out of memory: the next handshake is a full one
        }
    }
    return 0;  // OpenSSL keeps its reference
}

// Called before OpenSSL acts on the hello: a session must not be resumed under the rules of another
// host than the one that the client wants.
int negotiation_callbacks::hello_received(SSL* ssl, int* alert, void*) {
    negotiation& self = negotiation_of(ssl);
    const context::host_chooser& choose = self.context_.state().choose();
    const std::string_view host = choose ? host_in_hello(ssl) : std::string_view();
    if (host.empty()) {
        return SSL_CLIENT_HELLO_SUCCESS;
    }
    try {
        std::optional<context> chosen = choose(host);
        if (!chosen.has_value()) {
            chosen = self.context_;
        } else if (!chosen->is_server()) {
            throw invalid_argument("tls: the context chosen for host '" + printable(host, 255) +
                                   "' is one for clients");
        }
        const std::shared_ptr<SSL_CTX> current = chosen->state().ssl();
        SSL_CTX* const rules = current.get();
        if (SSL_set_SSL_CTX(ssl, rules) == nullptr) {
            throw std::bad_alloc();
        }
        SSL_set_verify(ssl, SSL_CTX_get_verify_mode(rules), SSL_CTX_get_verify_callback(rules));
        self.chosen_ = std::move(chosen);
        return SSL_CLIENT_HELLO_SUCCESS;
    } catch (...) {
        self.failure_ = std::current_exception();
        *alert = SSL_AD_INTERNAL_ERROR;
        return SSL_CLIENT_HELLO_ERROR;
    }
}

// Tells OpenSSL that the name was understood.
int negotiation_callbacks::server_name_received(SSL* ssl, int*, void*) {
    return SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) == nullptr ? SSL_TLSEXT_ERR_NOACK
                                                                         : SSL_TLSEXT_ERR_OK;
}

int negotiation_callbacks::protocols_offered(SSL*, const unsigned char** chosen,
                                             unsigned char* chosen_size,
                                             const unsigned char* offered,
                                             unsigned int offered_size, void* state) {
    const std::string& ours = static_cast<const context_state*>(state)->alpn();
    unsigned char* found = nullptr;
    if (SSL_select_next_proto(
            &found, chosen_size, reinterpret_cast<const unsigned char*>(ours.data()),
            static_cast<unsigned>(ours.size()), offered, offered_size) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

}  // namespace weir::tls::detail
