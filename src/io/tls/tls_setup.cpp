// SPDX-License-Identifier: MIT
// How a connection begins: the SSL object between the engine's buffers, the host that it expects,
// and what OpenSSL asks us on the way. Callbacks find their engine in the SSL object; none lets an
// exception pass through C code.

#include "io/tls/tls_state.hpp"

#include <weir/error.hpp>
#include <weir/io/detail/tls_engine.hpp>

#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace weir::tls::detail {

namespace {

bool is_ip_address(const std::string& host) {
    unsigned char parsed[16];
    return ::inet_pton(AF_INET, host.c_str(), parsed) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), parsed) == 1;
}

// As it is meant: without the brackets and the zone of an IPv6 address, or the dot at the end.
std::string plain_host(std::string_view given) {
    std::string_view host = given;
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    if (host.find(':') != std::string_view::npos) {
        host = host.substr(0, host.find('%'));
    } else if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    const auto is_strange = [](unsigned char c) { return c <= 0x20 || c >= 0x7f; };
    if (host.empty() || host.size() > 255 || std::any_of(host.begin(), host.end(), is_strange)) {
        throw invalid_argument("tls::connect: '" + printable(given, 300) +
                               "' is no host: it must be a name in ASCII or an IP address");
    }
    return std::string(host);
}

// The first host name in the hello, which has not been checked yet; empty if there is none, or if
// it makes no sense, of which the library will tell.
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

engine& engine_of(const SSL* ssl) noexcept {
    return *static_cast<engine*>(SSL_get_app_data(ssl));
}

}  // namespace

engine::engine(const context& with, std::string peer, clock::duration timeout, bool tolerant)
    : context_(with), peer_(std::move(peer)), handshake_timeout_(timeout), is_tolerant_(tolerant) {
    if (timeout <= clock::duration::zero()) {
        throw invalid_argument("tls: handshake_timeout is " + std::to_string(timeout.count()) +
                               " ns; it must be above 0");
    }
    ssl_ = check_made(SSL_new(with.state().ssl()));
    SSL_set_app_data(ssl_, this);
    BIO* transport = BIO_new(engine_callbacks::transport());
    if (transport == nullptr) {
        SSL_free(ssl_);
        throw std::bad_alloc();
    }
    BIO_set_data(transport, this);
    BIO_set_init(transport, 1);
    SSL_set_bio(ssl_, transport, transport);
}

engine::engine(const context& with, std::string_view host, const connect_options& options)
    : engine(with, plain_host(host), options.handshake_timeout, options.tolerate_truncation) {
    if (with.is_server()) {
        throw invalid_argument("tls::connect: the context is one for servers");
    }
    SSL_set_connect_state(ssl_);
    expect_host(peer_, options.check_host);
    session_cache& sessions = with.state().sessions();
    if (sessions.is_on()) {
        session_key_ = peer_ + (options.check_host ? "" : " unchecked");
    }
    if (sessions.is_on() && options.resume) {
        if (const session_pointer kept = sessions.take(session_key_)) {
            offered_session_ = SSL_set_session(ssl_, kept.get()) == 1;
        }
    }
}

engine::engine(const context& with, std::string peer, const accept_options& options)
    : engine(with, std::move(peer), options.handshake_timeout, options.tolerate_truncation) {
    if (!with.is_server()) {
        throw invalid_argument("tls::accept: the context is one for clients");
    }
    SSL_set_accept_state(ssl_);
}

void engine::expect_host(const std::string& host, bool check) {
    X509_VERIFY_PARAM* expected = SSL_get0_param(ssl_);
    const bool is_ip = is_ip_address(host);
    if (!is_ip && SSL_set_tlsext_host_name(ssl_, host.c_str()) != 1) {
        throw invalid_argument("tls::connect: '" + host + "' cannot be asked for");
    }
    if (!check) {
        return;
    }
    X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const int is_set = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str())
                             : X509_VERIFY_PARAM_set1_host(expected, host.data(), host.size());
    if (is_set != 1) {
        throw invalid_argument("tls::connect: '" + host + "' cannot be checked");
    }
}

// ---- callbacks
// ------------------------------------------------------------------------------------

int engine_callbacks::read(BIO* bio, char* into, std::size_t size, std::size_t* count) {
    engine& self = *static_cast<engine*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    *count = std::min(size, self.input_end_ - self.input_begin_);
    if (*count == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    std::memcpy(into, self.input_.data() + self.input_begin_, *count);
    self.input_begin_ += *count;
    return 1;
}

int engine_callbacks::write(BIO* bio, const char* data, std::size_t size, std::size_t* count) {
    engine& self = *static_cast<engine*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const auto* first = reinterpret_cast<const std::byte*>(data);
    try {
        self.output_.insert(self.output_.end(), first, first + size);
    } catch (...) {
        self.failure_ = std::current_exception();
        return 0;
    }
    *count = size;
    return 1;
}

long engine_callbacks::control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* engine_callbacks::transport() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* made =
            check_made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir"));
        BIO_meth_set_read_ex(made, &engine_callbacks::read);
        BIO_meth_set_write_ex(made, &engine_callbacks::write);
        BIO_meth_set_ctrl(made, &engine_callbacks::control);
        return made;
    }();
    return method;
}

int engine_callbacks::verified(int is_good, X509_STORE_CTX* about) {
    if (is_good == 1) {
        return 1;
    }
    const auto* ssl = static_cast<const SSL*>(
        X509_STORE_CTX_get_ex_data(about, SSL_get_ex_data_X509_STORE_CTX_idx()));
    engine& self = engine_of(ssl);
    try {
        self.refusal_ = describe_refusal(X509_STORE_CTX_get_error(about),
                                         X509_STORE_CTX_get_current_cert(about), self.peer_);
    } catch (...) {  // out of memory: refused all the same
    }
    return 0;
}

int engine_callbacks::session_made(SSL* ssl, SSL_SESSION* fresh) {
    engine& self = engine_of(ssl);
    if (!self.session_key_.empty() && SSL_SESSION_is_resumable(fresh) == 1) {
        try {
            if (session_pointer kept{SSL_SESSION_dup(fresh)}) {
                self.context_.state().sessions().put(self.session_key_, std::move(kept));
            }
        } catch (...) {  // out of memory: the next handshake is a full one
        }
    }
    return 0;  // it stays the library's
}

// Before anything of the hello is acted on: a session must not be resumed under the rules of
// another host than the one asked for.
int engine_callbacks::hello_came(SSL* ssl, int* alert, void*) {
    engine& self = engine_of(ssl);
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
        SSL_CTX* rules = chosen->state().ssl();
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

// Lets the library know that the name was understood.
int engine_callbacks::host_asked_for(SSL* ssl, int*, void*) {
    return SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) == nullptr ? SSL_TLSEXT_ERR_NOACK
                                                                         : SSL_TLSEXT_ERR_OK;
}

int engine_callbacks::protocols_offered(SSL*, const unsigned char** chosen,
                                        unsigned char* chosen_size, const unsigned char* offered,
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
