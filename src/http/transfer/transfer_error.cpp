// SPDX-License-Identifier: MIT
// Components throw errors that do not know the request; with_request() adds it. libcurl's results
// become errors with libcurl's own message where there is one: it names addresses and reasons.

#include "http/transfer/transfer_error.hpp"

#include <weir/http/address_filter.hpp>
#include <weir/http/client_error.hpp>
#include <weir/io/error.hpp>

#include <new>
#include <string_view>

namespace weir::http::detail {

namespace {

using kind = transport_error::kind;

kind kind_of(const curl_failure& failure) noexcept {
    switch (failure.result) {
        case CURLE_COULDNT_CONNECT:
        case CURLE_COULDNT_RESOLVE_HOST:
            return failure.uses_proxy ? kind::proxy : kind::connect;
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_PROXY:
            return kind::proxy;
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CIPHER:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_ISSUER_ERROR:
        case CURLE_SSL_INVALIDCERTSTATUS:
        case CURLE_SSL_CLIENTCERT:
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return kind::tls;
        case CURLE_GOT_NOTHING:
        case CURLE_SEND_ERROR:
        case CURLE_SEND_FAIL_REWIND:
        case CURLE_RECV_ERROR:
        case CURLE_PARTIAL_FILE:
            return !failure.is_connected && failure.uses_proxy ? kind::proxy : kind::closed;
        case CURLE_WEIRD_SERVER_REPLY:
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_HTTP2:
        case CURLE_HTTP2_STREAM:
            return kind::protocol;
        default:
            return kind::other;
    }
}

// libcurl has limits of its own, 100 KiB for a line of a head and 300 KiB for a head. Up to version
// 8.5 it reports a line that is too long as a lack of memory.
bool is_head_too_large(const curl_failure& failure) noexcept {
#if LIBCURL_VERSION_NUM >= 0x080600
    if (failure.result == CURLE_TOO_LARGE) {
        return true;
    }
#endif
    const bool reads_head = failure.is_connected && !failure.has_head;
    return (reads_head && failure.result == CURLE_OUT_OF_MEMORY) ||
           std::string_view(failure.text).starts_with("Too large response headers");
}

}  // namespace

std::exception_ptr with_request(const std::string& request) noexcept {
    try {
        try {
            throw;
        } catch (const transport_error& error) {
            throw transport_error(error.why(), request + ": " + error.what());
        } catch (const limit_exceeded& error) {
            throw limit_exceeded(request + ": " + error.what());
        } catch (const request_timed_out& error) {
            throw request_timed_out(error.which(), request + ": " + error.what());
        } catch (const resolve_error& error) {
            throw resolve_error(request + ": " + error.what());
        } catch (const address_refused& error) {
            throw address_refused(request + ": " + error.what(), error.host(), error.address());
        }
    } catch (...) {
        return std::current_exception();
    }
}

std::exception_ptr error_of(const curl_failure& failure, const std::string& request) noexcept {
    try {
        if (is_head_too_large(failure)) {
            throw limit_exceeded(request +
                                 ": the response's head has more than 300 KiB, or a line of more "
                                 "than 100 KiB");
        }
        if (failure.result == CURLE_OUT_OF_MEMORY) {
            throw std::bad_alloc();
        }
        if (failure.result == CURLE_OPERATION_TIMEDOUT) {
            throw request_timed_out(request_timed_out::limit::connect,
                                    request + ": timed out while connecting");
        }
        const char* const text =
            failure.text[0] != '\0' ? failure.text : curl_easy_strerror(failure.result);
        throw transport_error(kind_of(failure), request + ": " + text);
    } catch (...) {
        return std::current_exception();
    }
}

}  // namespace weir::http::detail
