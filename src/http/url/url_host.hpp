// SPDX-License-Identifier: MIT
// libcurl's reading of a URL, and what is made of the host in it.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

namespace weir::http::detail {

struct curl_url_cleaner {
    void operator()(CURLU* handle) const noexcept { curl_url_cleanup(handle); }
};
using curl_url = std::unique_ptr<CURLU, curl_url_cleaner>;

// Null if libcurl refuses it, and `why`.
curl_url take_apart(const std::string& text, std::string& why);
// A part as it is written; empty if there is none.
std::string get(CURLU* from, CURLUPart part, unsigned flags = 0);
// Writes the host in its one spelling, brackets included. False if it is refused, and `why`.
bool write_host(CURLU* from, std::string& to, bool& is_ip_literal, std::string& why);

}  // namespace weir::http::detail
