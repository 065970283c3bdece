// SPDX-License-Identifier: MIT
// Options are checked one by one, so that an error names the option. OpenSSL ignores unknown names
// in a list of ciphers, so each name is tried alone first.

#include "io/tls/context_rules.hpp"

#include "io/tls/tls_state.hpp"

#include <weir/error.hpp>

#include <atomic>
#include <string_view>

namespace weir::tls::detail {

namespace {

// Of TLS 1.2: a fresh key for each connection, so that a stolen key of the certificate does not
// open recorded connections, and ciphers that authenticate what they encrypt. Every client of the
// last ten years has one of these.
constexpr const char* server_ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

int openssl_number(version wanted) noexcept {
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

// Calls `accepts` with each name of a list that is separated by colons; a name that it refuses is
// an error.
template <class Accepts>
void check_names(std::string_view list, const std::string& option, const char* example,
                 Accepts accepts) {
    for (std::string_view left = list; !left.empty();) {
        const std::size_t colon = left.find(':');
        const std::string name(left.substr(0, colon));
        if (!accepts(name)) {
            ERR_clear_error();
            throw invalid_argument(option + ": '" + printable(name, 100) +
                                   "' is not known to OpenSSL; write a list such as " + example);
        }
        left = colon == std::string_view::npos ? std::string_view() : left.substr(colon + 1);
    }
}

bool knows_cipher(SSL_CTX& probe, std::string name) {
    if (name.starts_with('@')) {  // a command: @STRENGTH, @SECLEVEL=n
        return true;
    }
    if (name.starts_with('!') || name.starts_with('-') || name.starts_with('+')) {
        name.erase(0, 1);
    }
    return SSL_CTX_set_cipher_list(&probe, ("@SECLEVEL=0:" + name).c_str()) == 1;
}

template <class Options>
identity_source identity_of(const Options& from) {
    return {std::string(from.certificate_file), std::string(from.key_file),
            std::string(from.certificate_pem), std::string(from.key_pem),
            std::string(from.key_password)};
}

template <class Options>
trust_source trust_of(const Options& from) {
    return {std::string(from.ca_file), std::string(from.ca_dir), std::string(from.ca_pem)};
}

}  // namespace

context_rules::context_rules(const client_options& options)
    : is_server(false),
      min_version(options.min_version),
      max_version(options.max_version),
      ciphers(options.ciphers),
      tls13_ciphers(options.tls13_ciphers),
      curves(options.curves),
      identity(identity_of(options)),
      trust(trust_of(options)),
      verify(options.verify),
      from_client(client_certificates::ignored),
      alpn(wire_alpn(options.alpn, owner())),
      cached_sessions(options.cached_sessions),
      resumption(true),
      number(0) {}

context_rules::context_rules(const server_options& options)
    : is_server(true),
      min_version(options.min_version),
      max_version(options.max_version),
      ciphers(options.ciphers.empty() ? std::string_view(server_ciphers) : options.ciphers),
      tls13_ciphers(options.tls13_ciphers),
      curves(options.curves),
      identity(identity_of(options)),
      trust(trust_of(options)),
      verify(false),
      from_client(options.client_certificates),
      alpn(wire_alpn(options.alpn, owner())),
      cached_sessions(options.cached_sessions),
      resumption(options.resumption),
      number(0) {
    static std::atomic<std::uint64_t> contexts_made = 0;
    number = ++contexts_made;
    if (identity.certificate_file.empty() && identity.certificate_pem.empty()) {
        throw invalid_argument(std::string(owner()) +
                               ": no certificate: give certificate_file or certificate_pem");
    }
    const bool requests = from_client != client_certificates::ignored;
    if (requests == trust.is_empty()) {
        throw invalid_argument(
            std::string(owner()) +
            (requests ? ": client_certificates are requested, but neither ca_file, ca_dir nor "
                        "ca_pem says whom to trust"
                      : ": ca_file, ca_dir or ca_pem is given, but client_certificates are "
                        "ignored"));
    }
}

ssl_context_pointer context_rules::build() const {
    if (min_version > max_version) {
        throw invalid_argument(std::string(owner()) + ": min_version is above max_version");
    }
    ssl_context_pointer made(
        check_made(SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method())));
    SSL_CTX_set_min_proto_version(made.get(), openssl_number(min_version));
    SSL_CTX_set_max_proto_version(made.get(), openssl_number(max_version));
    SSL_CTX_set_options(made.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    // An idle connection keeps no buffers in OpenSSL. A record that has to wait for input may be at
    // another address when it is retried.
    SSL_CTX_set_mode(made.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    set_algorithms(*made);
    load_identity(*made, identity, owner());
    if (is_server) {
        set_server_rules(*made);
    } else {
        set_client_rules(*made);
    }
    return made;
}

void context_rules::set_algorithms(SSL_CTX& into) const {
    const std::string prefix = std::string(owner()) + ": ";
    if (ciphers != server_ciphers) {
        const ssl_context_pointer probe(check_made(SSL_CTX_new(TLS_method())));
        check_names(ciphers, prefix + "ciphers", "ECDHE-RSA-AES128-GCM-SHA256:ECDHE+CHACHA20",
                    [&](const std::string& name) { return knows_cipher(*probe, name); });
    }
    if (!ciphers.empty() && SSL_CTX_set_cipher_list(&into, ciphers.c_str()) != 1) {
        ERR_clear_error();
        throw invalid_argument(prefix + "ciphers '" + printable(ciphers, 300) +
                               "' leaves no cipher for TLS 1.2");
    }
    check_names(tls13_ciphers, prefix + "tls13_ciphers",
                "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256",
                [&](const std::string& name) {
                    return SSL_CTX_set_ciphersuites(&into, name.c_str()) == 1;
                });
    if (!tls13_ciphers.empty()) {
        SSL_CTX_set_ciphersuites(&into, tls13_ciphers.c_str());
    }
    check_names(curves, prefix + "curves", "X25519:P-256:P-384", [&](const std::string& name) {
        return SSL_CTX_set1_groups_list(&into, name.c_str()) == 1;
    });
    if (!curves.empty() && SSL_CTX_set1_groups_list(&into, curves.c_str()) != 1) {
        ERR_clear_error();
        throw invalid_argument(prefix + "curves '" + printable(curves, 300) +
                               "': a curve is listed twice");
    }
}

void context_rules::set_client_rules(SSL_CTX& into) const {
    if (!trust.is_empty()) {
        load_trust(into, trust, owner());
    } else if (verify) {
        SSL_CTX_set_default_verify_paths(&into);
    }
    SSL_CTX_set_verify(&into, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       &negotiation_callbacks::certificate_checked);
    if (!alpn.empty()) {
        SSL_CTX_set_alpn_protos(&into, reinterpret_cast<const unsigned char*>(alpn.data()),
                                static_cast<unsigned>(alpn.size()));
    }
    SSL_CTX_set_session_cache_mode(&into, cached_sessions == 0
                                              ? SSL_SESS_CACHE_OFF
                                              : SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(&into, &negotiation_callbacks::session_created);
}

void context_rules::set_server_rules(SSL_CTX& into) const {
    load_trust(into, trust, owner());
    int mode = from_client == client_certificates::ignored ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;
    if (from_client == client_certificates::required) {
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    SSL_CTX_set_verify(&into, mode, &negotiation_callbacks::certificate_checked);
    SSL_CTX_set_session_id_context(&into, reinterpret_cast<const unsigned char*>(&number),
                                   sizeof number);
    SSL_CTX_sess_set_cache_size(&into, static_cast<long>(cached_sessions));
    if (!resumption) {
        SSL_CTX_set_options(&into, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(&into, 0);
    }
    SSL_CTX_set_session_cache_mode(
        &into, resumption && cached_sessions > 0 ? SSL_SESS_CACHE_SERVER : SSL_SESS_CACHE_OFF);
    SSL_CTX_set_client_hello_cb(&into, &negotiation_callbacks::hello_received, nullptr);
    SSL_CTX_set_tlsext_servername_callback(&into, &negotiation_callbacks::server_name_received);
}

}  // namespace weir::tls::detail
