// SPDX-License-Identifier: MIT
// From libcurl's results to errors. Its own text is kept where it has one: it names addresses and
// reasons.

#include "http/client/client_core.hpp"
#include "http/transfer/transfer.hpp"

#include <new>

namespace weir::http::detail {

std::exception_ptr transfer::failure(CURLcode result) const {
    using kind = transport_error::kind;
    const char* const known = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(result);
    const std::string text = what() + ": " + known;
    kind why = kind::other;
    switch (result) {
        case CURLE_OUT_OF_MEMORY:
            return std::make_exception_ptr(std::bad_alloc());
        case CURLE_OPERATION_TIMEDOUT:
            return std::make_exception_ptr(request_timed_out(
                request_timed_out::limit::connect, what() + ": timed out while connecting"));
        case CURLE_COULDNT_CONNECT:
        case CURLE_COULDNT_RESOLVE_HOST:
            why = settings_use_proxy() ? kind::proxy : kind::connect;
            break;
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_PROXY:
            why = kind::proxy;
            break;
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CIPHER:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_ISSUER_ERROR:
        case CURLE_SSL_INVALIDCERTSTATUS:
        case CURLE_SSL_CLIENTCERT:
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            why = kind::tls;
            break;
        case CURLE_GOT_NOTHING:
        case CURLE_SEND_ERROR:
        case CURLE_SEND_FAIL_REWIND:
        case CURLE_RECV_ERROR:
        case CURLE_PARTIAL_FILE:
            why = is_connected_ ? kind::closed : settings_use_proxy() ? kind::proxy : kind::closed;
            break;
        case CURLE_WEIRD_SERVER_REPLY:
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_HTTP2:
        case CURLE_HTTP2_STREAM:
            why = kind::protocol;
            break;
        default:
            break;
    }
    return std::make_exception_ptr(transport_error(why, text));
}

bool transfer::settings_use_proxy() const noexcept {
    return !core_->settings().proxy.empty();
}

}  // namespace weir::http::detail
