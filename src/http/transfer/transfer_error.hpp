// SPDX-License-Identifier: MIT
// The errors of transfers. Every message begins with the request, as in 'GET http://host/: ...'.
#pragma once

#include <weir/http/client_request.hpp>
#include <weir/http/url.hpp>

#include <curl/curl.h>

#include <exception>
#include <string>
#include <string_view>

namespace weir::http::detail {

// 'GET http://host/'
inline std::string description_of(std::string_view method, const http::url& url) {
    return std::string(method) + ' ' + url.text();
}
inline std::string description_of(const client_request& request) {
    return description_of(request.method_name(), request.url());
}

// The current exception with the request in front of its message, if it is one of ours; any other
// is returned as it is. Only in a catch block.
std::exception_ptr with_request(const std::string& request) noexcept;

struct curl_failure {
    CURLcode result;
    const char* text;   // libcurl's own message; may be empty
    bool is_connected;  // a connection could be used
    bool uses_proxy;
    bool has_head = false;  // the head of the response is complete
};
// The error for a result of libcurl other than success.
std::exception_ptr error_of(const curl_failure& failure, const std::string& request) noexcept;

}  // namespace weir::http::detail
