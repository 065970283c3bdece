// SPDX-License-Identifier: MIT
// A context is an SSL_CTX that is set up once and then only read, on any thread: OpenSSL counts
// references atomically and locks the caches inside it. Client sessions are not kept by OpenSSL,
// whose store has no hosts; see session_cache.cpp.

#include "io/tls/tls_state.hpp"

#include <weir/error.hpp>
#include <weir/io/tls_context.hpp>

#include <atomic>

namespace weir::tls {

namespace {

using detail::context_state;
using detail::negotiation_callbacks;

int number(version wanted) noexcept {
    return wanted == version::tls12 ? TLS1_2_VERSION : TLS1_3_VERSION;
}

// "h2,http/1.1" in wire format: each name after its length.
std::string wire_alpn(std::string_view names, const std::string& owner) {
    std::string wire;
    while (!names.empty()) {
        const std::size_t comma = names.find(',');
        const std::string_view name = names.substr(0, comma);
        if (name.empty() || name.size() > 255 || comma + 1 == names.size()) {
            throw invalid_argument(
                owner + ": alpn '" + std::string(names) +
                "': " + (name.size() > 255 ? "a name of more than 255 bytes" : "an empty name") +
                "; it must be like \"h2,http/1.1\"");
        }
        wire += static_cast<char>(name.size());
        wire += name;
        names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 1);
    }
    if (wire.size() > 4096) {
        throw invalid_argument(owner + ": alpn of more than 4096 bytes");
    }
    return wire;
}

detail::ssl_context_pointer make(const SSL_METHOD* method, version least, version most,
                                 const std::string& owner) {
    if (least > most) {
        throw invalid_argument(owner + ": min_version is above max_version");
    }
    detail::ssl_context_pointer made(detail::check_made(SSL_CTX_new(method)));
    SSL_CTX_set_min_proto_version(made.get(), number(least));
    SSL_CTX_set_max_proto_version(made.get(), number(most));
    SSL_CTX_set_options(made.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    // An idle connection keeps no buffers in OpenSSL. A record that has to wait for input may be at
    // another address when it is retried.
    SSL_CTX_set_mode(made.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return made;
}

}  // namespace

context context::client(const client_options& options) {
    const std::string owner = "tls::context::client";
    detail::ssl_context_pointer made =
        make(TLS_client_method(), options.min_version, options.max_version, owner);
    SSL_CTX& ssl = *made;

    const detail::trust_options trust{options.ca_file, options.ca_dir, options.ca_pem};
    if (!trust.is_empty()) {
        detail::load_trust(ssl, trust, owner);
    } else if (options.verify) {
        SSL_CTX_set_default_verify_paths(&ssl);
    }
    SSL_CTX_set_verify(&ssl, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       &negotiation_callbacks::certificate_checked);
    detail::load_identity(ssl,
                          {options.certificate_file, options.key_file, options.certificate_pem,
                           options.key_pem, options.key_password},
                          owner);
    std::string alpn = wire_alpn(options.alpn, owner);
    if (!alpn.empty()) {
        SSL_CTX_set_alpn_protos(&ssl, reinterpret_cast<const unsigned char*>(alpn.data()),
                                static_cast<unsigned>(alpn.size()));
    }
    SSL_CTX_set_session_cache_mode(&ssl, options.cached_sessions == 0
                                             ? SSL_SESS_CACHE_OFF
                                             : SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(&ssl, &negotiation_callbacks::session_created);
    return context(std::make_shared<context_state>(std::move(made), false, std::move(alpn),
                                                   options.cached_sessions, host_chooser()));
}

context context::server(const server_options& options) {
    return server(options, host_chooser());
}

context context::server(const server_options& options, host_chooser choose) {
    const std::string owner = "tls::context::server";
    detail::ssl_context_pointer made =
        make(TLS_server_method(), options.min_version, options.max_version, owner);
    SSL_CTX& ssl = *made;

    if (options.certificate_file.empty() && options.certificate_pem.empty()) {
        throw invalid_argument(owner +
                               ": no certificate: give certificate_file or certificate_pem");
    }
    detail::load_identity(ssl,
                          {options.certificate_file, options.key_file, options.certificate_pem,
                           options.key_pem, options.key_password},
                          owner);
    const detail::trust_options trust{options.ca_file, options.ca_dir, options.ca_pem};
    const bool requests = options.client_certificates != client_certificates::ignored;
    if (requests == trust.is_empty()) {
        throw invalid_argument(
            owner + (requests
                         ? ": client_certificates are requested, but neither ca_file, ca_dir nor "
                           "ca_pem says whom to trust"
                         : ": ca_file, ca_dir or ca_pem is given, but client_certificates are "
                           "ignored"));
    }
    detail::load_trust(ssl, trust, owner);
    int mode = requests ? SSL_VERIFY_PEER : SSL_VERIFY_NONE;
    if (options.client_certificates == client_certificates::required) {
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    SSL_CTX_set_verify(&ssl, mode, &negotiation_callbacks::certificate_checked);

    // A session is valid only for the context under which it was created.
    static std::atomic<std::uint64_t> contexts_made = 0;
    const std::uint64_t own_number = ++contexts_made;
    SSL_CTX_set_session_id_context(&ssl, reinterpret_cast<const unsigned char*>(&own_number),
                                   sizeof own_number);
    SSL_CTX_sess_set_cache_size(&ssl, static_cast<long>(options.cached_sessions));
    if (!options.resumption) {
        SSL_CTX_set_options(&ssl, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(&ssl, 0);
    }
    SSL_CTX_set_session_cache_mode(&ssl, options.resumption && options.cached_sessions > 0
                                             ? SSL_SESS_CACHE_SERVER
                                             : SSL_SESS_CACHE_OFF);

    auto state = std::make_shared<context_state>(
        std::move(made), true, wire_alpn(options.alpn, owner), 0, std::move(choose));
    if (!state->alpn().empty()) {
        SSL_CTX_set_alpn_select_cb(&ssl, &negotiation_callbacks::protocols_offered, state.get());
    }
    SSL_CTX_set_client_hello_cb(&ssl, &negotiation_callbacks::hello_received, nullptr);
    SSL_CTX_set_tlsext_servername_callback(&ssl, &negotiation_callbacks::server_name_received);
    return context(std::move(state));
}

bool context::is_server() const noexcept {
    return state_->is_server();
}

std::size_t context::kept_sessions() const {
    return state_->sessions().size();
}

}  // namespace weir::tls
