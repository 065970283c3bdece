// SPDX-License-Identifier: MIT
// The request half of a libcurl easy handle: URL, method, headers and body.
#pragma once

#include "http/curl/curl_list.hpp"

#include <weir/http/body.hpp>
#include <weir/http/client_request.hpp>
#include <weir/http/url.hpp>

#include <curl/curl.h>

#include <string>
#include <utility>

namespace weir::http::detail {

struct client_settings;
class upload;

// Owns the easy handle, which is used for one request after another.
class easy_request {
public:
    // Throws std::bad_alloc.
    easy_request();
    ~easy_request();
    easy_request(const easy_request&) = delete;
    easy_request& operator=(const easy_request&) = delete;

    CURL* handle() const noexcept { return easy_; }
    // Sets the options of the request, and takes its body, unless `streamed` sends it. Throws
    // std::bad_alloc.
    void prepare(client_request& request, const client_settings& settings, const upload* streamed);
    // The body, to be sent again. Only after the transfer has ended.
    http::body take_body() noexcept { return std::exchange(body_, {}); }
    // Only after the transfer has ended.
    void reset() noexcept { body_ = {}; }

    const http::url& url() const noexcept { return url_; }
    // 'GET http://host/'
    std::string description() const;
    // The server may receive the request twice without harm.
    bool is_repeatable() const noexcept { return is_repeatable_; }
    // The client itself added Accept-Encoding, and decodes the response.
    bool decodes_response() const noexcept { return accepts_encodings_ && method_name_ != "HEAD"; }
    // libcurl's message about the last failure; may be empty.
    const char* error_text() const noexcept { return error_text_; }

private:
    // The kind of request for which the options of the easy handle are set.
    enum class kind : unsigned char { other, plain_get };

    void set_url(const http::url& url);
    void set_method(const client_request& request, const upload* streamed);
    void set_headers(const client_request& request, const client_settings& settings);

    CURLU* location_;
    CURL* easy_;
    http::url url_;
    std::string method_name_;
    http::body body_;
    curl_list header_list_;
    std::string header_lines_;
    char error_text_[CURL_ERROR_SIZE] = {};
    kind kind_ = kind::other;
    bool has_headers_ = false;        // the easy handle refers to header_list_
    bool has_plain_headers_ = false;  // it has those of a GET without headers of its own
    bool accepts_encodings_ = false;
    bool is_repeatable_ = false;
};

}  // namespace weir::http::detail
