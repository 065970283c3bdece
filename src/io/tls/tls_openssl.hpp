// SPDX-License-Identifier: MIT
// OpenSSL's objects with owners, and its errors as text.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace weir::tls::detail {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* owned) const noexcept {
        Free(owned);
    }
};
using bio_pointer = std::unique_ptr<BIO, freed_by<&BIO_free>>;
using certificate_pointer = std::unique_ptr<X509, freed_by<&X509_free>>;
using key_pointer = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;
using session_pointer = std::unique_ptr<SSL_SESSION, freed_by<&SSL_SESSION_free>>;
using ssl_context_pointer = std::unique_ptr<SSL_CTX, freed_by<&SSL_CTX_free>>;

// The error at the bottom of this thread's queue, which is the cause of those above it.
inline std::string library_error() {
    const unsigned long code = ERR_peek_error();
    if (code == 0) {
        return "unknown error";
    }
    if (const char* reason = ERR_reason_error_string(code)) {
        return reason;
    }
    char text[256];
    ERR_error_string_n(code, text, sizeof text);
    return text;
}

// Memory is what these fail for.
template <class T>
T* check_made(T* made) {
    if (made == nullptr) {
        throw std::bad_alloc();
    }
    return made;
}

inline bio_pointer bio_over(std::string_view text) {
    return bio_pointer(check_made(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))));
}

inline std::string text_of(BIO* memory) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory, &data);
    return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

// 'CN=example.org,O=Example'.
inline std::string text_of(const X509_NAME* name) {
    const bio_pointer memory(check_made(BIO_new(BIO_s_mem())));
    X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
    return text_of(memory.get());
}

}  // namespace weir::tls::detail
