// SPDX-License-Identifier: MIT
// A URL as libcurl takes it apart, and the normal form of its host.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

namespace weir::http::detail {

struct curl_url_cleaner {
    void operator()(CURLU* handle) const noexcept { curl_url_cleanup(handle); }
};
using curl_url = std::unique_ptr<CURLU, curl_url_cleaner>;

// Null if libcurl rejects the text; sets `reason`.
curl_url split_url(const std::string& text, std::string& reason);
// A part as it is written; empty if there is none.
std::string get(CURLU* from, CURLUPart part, unsigned flags = 0);
// Appends the host in its normal form, with brackets. False if it is invalid; sets `reason`.
bool write_host(CURLU* from, std::string& to, bool& is_ip_literal, std::string& reason);

}  // namespace weir::http::detail
