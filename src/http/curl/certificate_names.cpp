// SPDX-License-Identifier: MIT
// libcurl checks the host itself, behind OpenSSL's check of the chain. A callback of that check
// refuses the server's certificate if it lists neither a host name nor an address; for any other
// certificate libcurl does not look at the common name.

#include "http/curl/certificate_names.hpp"

#include "http/client/client_settings.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string_view>

namespace weir::http::detail {

namespace {

bool lists_names(const X509* certificate) {
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
        static_cast<GENERAL_NAMES*>(
            X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
        &GENERAL_NAMES_free);
    for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const int type = sk_GENERAL_NAME_value(names.get(), i)->type;
        if (type == GEN_DNS || type == GEN_IPADD) {
            return true;
        }
    }
    return false;
}

int check_names(int is_valid, X509_STORE_CTX* store) {
    if (is_valid == 1 && X509_STORE_CTX_get_error_depth(store) == 0 &&
        !lists_names(X509_STORE_CTX_get_current_cert(store))) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
        return 0;
    }
    return is_valid;
}

CURLcode set_check(CURL*, void* ssl, void*) {
    auto* const context = static_cast<SSL_CTX*>(ssl);
    SSL_CTX_set_verify(context, SSL_CTX_get_verify_mode(context), &check_names);
    return CURLE_OK;
}

bool uses_openssl() {
    const char* const library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return library != nullptr && std::string_view(library).starts_with("OpenSSL/");
}

}  // namespace

void require_certificate_names(CURL* easy) {
    static const bool is_openssl = uses_openssl();
    if (is_openssl) {
        set_curl_option(easy, CURLOPT_SSL_CTX_FUNCTION, &set_check);
    }
}

}  // namespace weir::http::detail
