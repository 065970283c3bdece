// SPDX-License-Identifier: MIT
// The checked options of a client, and the libcurl options that all its transfers share.
#pragma once

#include <weir/clock.hpp>
#include <weir/http/client.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/url.hpp>

#include <curl/curl.h>

#include <new>
#include <string>

namespace weir::http::detail {

// client_options with texts of its own.
struct client_settings {
    // Throws invalid_argument for an invalid option.
    explicit client_settings(const client_options& user_options);

    // Sets an easy handle's options. Throws std::bad_alloc.
    void configure(CURL* easy, CURLSH* share) const;

    client_options options;  // do not use the views in it: their texts may be gone
    std::string user_agent;
    http::url proxy;
    std::string ca_file, ca_dir, ca_pem;
    std::string certificate_file, key_file, certificate_pem, key_pem, key_password;
    std::string ciphers, tls13_ciphers, curves;
    http::headers default_headers;

private:
    void configure_tls(CURL* easy) const;
};

// From 1 ms to a day, rounded up.
long to_curl_milliseconds(clock::duration time) noexcept;

// Throws std::bad_alloc; other errors mean that libcurl was built without the option.
template <class Value>
void set_curl_option(CURL* easy, CURLoption option, Value value) {
    if (curl_easy_setopt(easy, option, value) == CURLE_OUT_OF_MEMORY) {
        throw std::bad_alloc();
    }
}

}  // namespace weir::http::detail
