// SPDX-License-Identifier: MIT
// Certificates that weir::tls does not make: the name of the host only in the common name, keys of
// RSA.
#pragma once

#include <weir/io/tls_certificate.hpp>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace weir_test {

struct openssl_deleter {
    void operator()(BIO* owned) const { BIO_free(owned); }
    void operator()(X509* owned) const { X509_free(owned); }
    void operator()(EVP_PKEY* owned) const { EVP_PKEY_free(owned); }
};
template <class T>
using openssl_owned = std::unique_ptr<T, openssl_deleter>;

struct odd_certificate {
    std::string name;  // the common name
    bool is_rsa = false;
    bool has_alternative_name = false;  // the same as a DNS name
};

// Signed by itself.
inline weir::tls::certificate certificate_with(const odd_certificate& wanted) {
    const openssl_owned<EVP_PKEY> key(wanted.is_rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"));
    const openssl_owned<X509> made(X509_new());
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 7);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -300);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
    X509_set_pubkey(made.get(), key.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(wanted.name.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
    if (wanted.has_alternative_name) {
        const std::string names = "DNS:" + wanted.name;
        X509_EXTENSION* const extension =
            X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
        X509_add_ext(made.get(), extension, -1);
        X509_EXTENSION_free(extension);
    }
    if (X509_sign(made.get(), key.get(), EVP_sha256()) == 0) {
        throw std::runtime_error("cannot sign a certificate");
    }
    const auto text_of = [](BIO* memory) {
        char* data = nullptr;
        const long size = BIO_get_mem_data(memory, &data);
        return std::string(data, static_cast<std::size_t>(size));
    };
    const openssl_owned<BIO> certificate(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(certificate.get(), made.get());
    const openssl_owned<BIO> secret(BIO_new(BIO_s_mem()));
    PEM_write_bio_PKCS8PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return {text_of(certificate.get()), text_of(secret.get())};
}

}  // namespace weir_test
