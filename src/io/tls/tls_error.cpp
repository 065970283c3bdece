// SPDX-License-Identifier: MIT
// OpenSSL leaves error codes in a queue of the thread; here they become a kind and a sentence. Its
// own words are kept in parentheses, because users search for them.

#include "io/tls/tls_state.hpp"

#include <weir/io/tls_error.hpp>

#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <algorithm>

namespace weir {

const char* to_string(tls_failure kind) noexcept {
    switch (kind) {
        case tls_failure::verification:
            return "verification";
        case tls_failure::version:
            return "version";
        case tls_failure::alpn:
            return "alpn";
        case tls_failure::not_tls:
            return "not_tls";
        case tls_failure::handshake:
            return "handshake";
        case tls_failure::truncated:
            return "truncated";
        case tls_failure::protocol:
            return "protocol";
    }
    return "unknown";
}

}  // namespace weir

namespace weir::tls::detail {

namespace {

using names_pointer = std::unique_ptr<GENERAL_NAMES, freed_by<&GENERAL_NAMES_free>>;

std::string host_in(const GENERAL_NAME& name) {
    int type = 0;
    const auto* value = static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(&name, &type));
    if (type != GEN_DNS && type != GEN_IPADD) {
        return {};
    }
    const unsigned char* data = ASN1_STRING_get0_data(value);
    const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
    if (type == GEN_DNS) {
        return printable({reinterpret_cast<const char*>(data), size}, 100);
    }
    char text[INET6_ADDRSTRLEN] = {};
    if (size == 4 || size == 16) {
        ::inet_ntop(size == 4 ? AF_INET : AF_INET6, data, text, sizeof text);
    }
    return text;
}

// The first few hosts that a certificate is for.
std::string hosts_of(X509& about) {
    const names_pointer names(static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(&about, NID_subject_alt_name, nullptr, nullptr)));
    std::string list;
    int listed = 0;
    for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const std::string next = host_in(*sk_GENERAL_NAME_value(names.get(), i));
        if (next.empty()) {
            continue;
        }
        if (++listed > 4) {
            return list + "...";
        }
        list += list.empty() ? "" : ", ";
        list += next;
    }
    return list.empty() ? printable(text_of(X509_get_subject_name(&about)), 200) : list;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
    std::string result(text.substr(0, most));
    std::replace_if(
        result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '.');
    return result;
}

std::string describe_refusal(int error, X509* refused, const std::string& host) {
    const std::string own_words = X509_verify_cert_error_string(error);
    if (refused == nullptr) {
        return own_words;
    }
    switch (error) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "the certificate is for " + hosts_of(*refused) + ", not for " + host + " (" +
                   own_words + ")";
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return "unknown authority '" + printable(text_of(X509_get_issuer_name(refused)), 200) +
                   "' (" + own_words + ")";
        default:
            return own_words;
    }
}

std::string describe_foreign_input(std::string_view first) {
    // A TLS record begins with its type, 20 to 23, and the major version 3.
    if (first.empty() ||
        (first[0] >= 20 && first[0] <= 23 && (first.size() < 2 || first[1] == 3))) {
        return {};
    }
    const bool is_http = first.starts_with("HTTP/") || first.starts_with("GET ") ||
                         first.starts_with("POST ") || first.starts_with("HEAD ") ||
                         first.starts_with("PUT ") || first.starts_with("CONNECT ") ||
                         first.starts_with("OPTIONS ") || first.starts_with("DELETE ");
    return std::string(is_http ? "the peer speaks plain HTTP, not TLS"
                               : "the peer does not speak TLS") +
           ": it sent '" + printable(first, 24) + "'";
}

described_error describe_library_error(bool is_established, const std::string& refusal) {
    const unsigned long code = ERR_peek_error();
    const int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    const std::string words = library_error();
    const tls_failure otherwise = is_established ? tls_failure::protocol : tls_failure::handshake;
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        // One pair of parentheses for all of OpenSSL's words.
        return {tls_failure::verification,
                refusal.ends_with(')')
                    ? refusal.substr(0, refusal.size() - 1) + ", " + words + ")"
                    : (refusal.empty() ? "refused" : refusal) + " (" + words + ")"};
    }
    if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
        return {tls_failure::verification, "the client sent no certificate (" + words + ")"};
    }
    if (reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_WRONG_SSL_VERSION ||
        reason == SSL_R_NO_PROTOCOLS_AVAILABLE || reason == SSL_R_VERSION_TOO_LOW ||
        reason == SSL_R_VERSION_TOO_HIGH || reason == SSL_R_BAD_PROTOCOL_VERSION_NUMBER) {
        return {tls_failure::version, "no protocol version in common (" + words + ")"};
    }
    if (reason == SSL_R_NO_APPLICATION_PROTOCOL) {
        return {tls_failure::alpn, "no application protocol in common (" + words + ")"};
    }
    if (reason <= SSL_AD_REASON_OFFSET) {
        return {otherwise, words};
    }
    // An alert: the peer's reason for ending the connection.
    const int alert = reason - SSL_AD_REASON_OFFSET;
    const std::string description =
        std::string(SSL_alert_desc_string_long(alert)) + " (" + words + ")";
    switch (alert) {
        case SSL_AD_NO_APPLICATION_PROTOCOL:
            return {tls_failure::alpn, "no application protocol in common (" + words + ")"};
        case SSL_AD_PROTOCOL_VERSION:
            return {tls_failure::version, "the peer refused our protocol version (" + words + ")"};
        case SSL_AD_BAD_CERTIFICATE:
        case SSL_AD_UNSUPPORTED_CERTIFICATE:
        case SSL_AD_CERTIFICATE_REVOKED:
        case SSL_AD_CERTIFICATE_EXPIRED:
        case SSL_AD_CERTIFICATE_UNKNOWN:
        case SSL_AD_UNKNOWN_CA:
        case SSL_AD_CERTIFICATE_REQUIRED:
        case SSL_AD_ACCESS_DENIED:
            return {tls_failure::verification, "the peer refused our certificate: " + description};
        default:
            return {otherwise, "the peer sent an alert: " + description};
    }
}

}  // namespace weir::tls::detail
