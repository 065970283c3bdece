// SPDX-License-Identifier: MIT
// X.509 certificates of version 3, signed with SHA-256, with random serial numbers of 63 bits. The
// extensions are those that OpenSSL, browsers and RFC 5280 require: key usage, key identifiers, and
// the hosts as alternative names.

#include "io/tls/tls_openssl.hpp"

#include <weir/error.hpp>
#include <weir/io/tls_certificate.hpp>

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

namespace weir::tls {

namespace {

using detail::certificate_pointer;
using detail::check_made;
using detail::key_pointer;
using extension_pointer = std::unique_ptr<X509_EXTENSION, detail::freed_by<&X509_EXTENSION_free>>;

void check(int is_good, const char* what) {
    if (is_good <= 0) {
        throw std::runtime_error("tls: cannot make a certificate: " + std::string(what) + ": " +
                                 detail::library_error());
    }
}

[[noreturn]] void refuse_names(std::string_view names, const char* why) {
    throw invalid_argument("tls: names '" + std::string(names) + "': " + why +
                           "; they must be like \"localhost,127.0.0.1\"");
}

// "localhost,127.0.0.1" as 'DNS:localhost,IP:127.0.0.1'.
std::string alternative_names(std::string_view names) {
    std::string result;
    std::string_view left = names;
    for (;;) {
        const std::size_t comma = left.find(',');
        const std::string name(left.substr(0, comma));
        const auto is_strange = [](char c) {
            return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '-' || c == '_' || c == '*' || c == ':');
        };
        if (name.empty() || name.size() > 255) {
            refuse_names(names, name.empty() ? "an empty name" : "a name of more than 255 bytes");
        }
        if (std::any_of(name.begin(), name.end(), is_strange)) {
            refuse_names(names, "a character that no host has");
        }
        unsigned char parsed[16];
        const bool is_ip = ::inet_pton(AF_INET, name.c_str(), parsed) == 1 ||
                           ::inet_pton(AF_INET6, name.c_str(), parsed) == 1;
        result += result.empty() ? "" : ",";
        result += is_ip ? "IP:" : "DNS:";
        result += name;
        if (comma == std::string_view::npos) {
            return result;
        }
        left.remove_prefix(comma + 1);
    }
}

void set_common_name(X509& made, std::string_view name) {
    constexpr std::size_t most = 64;  // the standard's limit
    check(X509_NAME_add_entry_by_txt(X509_get_subject_name(&made), "CN", MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(name.data()),
                                     static_cast<int>(std::min(name.size(), most)), -1, 0),
          "subject");
}

void extend(X509& subject, X509& issuer, int what, const char* value) {
    X509V3_CTX about;
    X509V3_set_ctx(&about, &issuer, &subject, nullptr, nullptr, 0);
    const extension_pointer made(X509V3_EXT_conf_nid(nullptr, &about, what, value));
    check(made != nullptr ? X509_add_ext(&subject, made.get(), -1) : 0, value);
}

certificate_pointer draft(EVP_PKEY& key, std::string_view name, std::chrono::seconds begins,
                          std::chrono::seconds lasts) {
    certificate_pointer made(check_made(X509_new()));
    std::uint64_t serial = 0;
    check(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial), "serial number");
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), (serial >> 1) | 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), begins.count());
    X509_gmtime_adj(X509_getm_notAfter(made.get()), (begins + lasts).count());
    check(X509_set_pubkey(made.get(), &key), "public key");
    set_common_name(*made, name);
    return made;
}

key_pointer fresh_key() {
    return key_pointer(check_made(EVP_EC_gen("P-256")));
}

std::string pem_of(X509& made) {
    const detail::bio_pointer memory(check_made(BIO_new(BIO_s_mem())));
    check(PEM_write_bio_X509(memory.get(), &made), "PEM");
    return detail::text_of(memory.get());
}

std::string pem_of(EVP_PKEY& key) {
    const detail::bio_pointer memory(check_made(BIO_new(BIO_s_mem())));
    check(PEM_write_bio_PKCS8PrivateKey(memory.get(), &key, nullptr, nullptr, 0, nullptr, nullptr),
          "PEM");
    return detail::text_of(memory.get());
}

// Without an issuer: self-signed.
certificate make_leaf(const certificate_options& options, X509* issuer, EVP_PKEY* issuer_key) {
    const std::string hosts = alternative_names(options.names);
    if (options.lasts.count() <= 0) {
        throw invalid_argument("tls: a certificate that lasts " +
                               std::to_string(options.lasts.count()) + " s; it must be above 0");
    }
    const key_pointer key = fresh_key();
    const certificate_pointer made = draft(*key, options.names.substr(0, options.names.find(',')),
                                           options.begins, options.lasts);
    X509& signer = issuer != nullptr ? *issuer : *made;
    check(X509_set_issuer_name(made.get(), X509_get_subject_name(&signer)), "issuer");
    extend(*made, signer, NID_basic_constraints, "critical,CA:FALSE");
    extend(*made, signer, NID_key_usage, "critical,digitalSignature");
    extend(*made, signer, NID_ext_key_usage, "serverAuth,clientAuth");
    extend(*made, signer, NID_subject_alt_name, hosts.c_str());
    extend(*made, signer, NID_subject_key_identifier, "hash");
    extend(*made, signer, NID_authority_key_identifier, "keyid:always");
    check(X509_sign(made.get(), issuer_key != nullptr ? issuer_key : key.get(), EVP_sha256()),
          "signature");
    return {pem_of(*made), pem_of(*key)};
}

}  // namespace

struct certificate_authority::state {
    key_pointer key;
    certificate_pointer own;
};

certificate_authority::certificate_authority(std::string_view name)
    : state_(std::make_unique<state>()) {
    if (name.empty()) {
        throw invalid_argument("tls: an authority needs a name");
    }
    state_->key = fresh_key();
    state_->own =
        draft(*state_->key, name, -std::chrono::hours(24 * 365), std::chrono::hours(24 * 365 * 10));
    X509& own = *state_->own;
    check(X509_set_issuer_name(&own, X509_get_subject_name(&own)), "issuer");
    extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
    extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
    extend(own, own, NID_subject_key_identifier, "hash");
    check(X509_sign(&own, state_->key.get(), EVP_sha256()), "signature");
    pem_ = pem_of(own);
}

certificate_authority::~certificate_authority() = default;

certificate certificate_authority::issue(const certificate_options& options) const {
    return make_leaf(options, state_->own.get(), state_->key.get());
}

certificate make_self_signed(const certificate_options& options) {
    return make_leaf(options, nullptr, nullptr);
}

}  // namespace weir::tls
