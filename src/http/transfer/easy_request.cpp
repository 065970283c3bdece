// SPDX-License-Identifier: MIT
// Setting an option of libcurl copies texts and costs as much as a small system call. So options
// that the previous request has set stay: the URL if it is the same, and everything for a plain GET
// that follows a plain GET.

#include "http/transfer/easy_request.hpp"

#include "http/client/client_settings.hpp"
#include "http/client/redirect.hpp"
#include "http/transfer/transfer_error.hpp"
#include "http/transfer/upload.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>

namespace weir::http::detail {

namespace {

// Headers that change what libcurl does, or that it would add itself.
bool is_known_to_curl(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 16> known{"Host",
                                                     "Accept",
                                                     "Content-Type",
                                                     "Content-Length",
                                                     "Transfer-Encoding",
                                                     "Expect",
                                                     "Connection",
                                                     "TE",
                                                     "Authorization",
                                                     "Cookie",
                                                     "Referer",
                                                     "Range",
                                                     "Content-Range",
                                                     "Upgrade",
                                                     "Alt-Used",
                                                     "Date"};
    return std::any_of(known.begin(), known.end(),
                       [&](std::string_view each) { return same_name(name, each); });
}

}  // namespace

easy_request::easy_request() : location_(curl_url()), easy_(curl_easy_init()) {
    if (easy_ == nullptr || location_ == nullptr) {
        curl_easy_cleanup(easy_);
        curl_url_cleanup(location_);
        throw std::bad_alloc();
    }
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_text_);
}

easy_request::~easy_request() {
    curl_easy_cleanup(easy_);
    curl_url_cleanup(location_);
}

std::string easy_request::description() const {
    return description_of(method_name_, url_);
}

void easy_request::prepare(client_request& request, const client_settings& settings,
                           const upload* streamed) {
    set_url(request.url());
    method_name_.assign(request.method_name());
    is_repeatable_ =
        is_idempotent(request.method()) || request.headers().contains("Idempotency-Key");
    if (streamed == nullptr) {
        body_ = std::move(request.body());
    }
    error_text_[0] = '\0';
    set_method(request, streamed);
    set_headers(request, settings);
}

// A URL given as text would be parsed by libcurl for each request. libcurl also keeps the text of
// the previous one, which has to be cleared.
void easy_request::set_url(const http::url& url) {
    if (url_ == url) {
        return;
    }
    url_ = http::url();
    if (curl_url_set(location_, CURLUPART_URL, url.text().c_str(), CURLU_PATH_AS_IS) != CURLUE_OK) {
        throw std::bad_alloc();  // libcurl accepts the text of every http::url
    }
    curl_easy_setopt(easy_, CURLOPT_URL, nullptr);
    curl_easy_setopt(easy_, CURLOPT_CURLU, location_);
    url_ = url;
}

void easy_request::set_method(const client_request& request, const upload* streamed) {
    const http::method method = request.method();
    const bool is_head = method == http::method::head;
    const bool has_text = !is_head && streamed == nullptr &&
                          (!body_.empty() || method == http::method::post ||
                           method == http::method::put || method == http::method::patch);
    const bool is_plain_get = method == http::method::get && streamed == nullptr && !has_text;
    if (is_plain_get && kind_ == kind::plain_get) {
        return;
    }
    curl_easy_setopt(easy_, CURLOPT_UPLOAD, 0L);
    curl_easy_setopt(easy_, CURLOPT_NOBODY, 0L);
    curl_easy_setopt(easy_, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST,
                     is_head || is_plain_get ? nullptr : request.method_name().c_str());
    kind_ = is_plain_get ? kind::plain_get : kind::other;
    if (is_head) {
        curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
    } else if (streamed != nullptr) {
        const std::optional<std::uint64_t> size = streamed->size();
        curl_easy_setopt(easy_, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy_, CURLOPT_INFILESIZE_LARGE,
                         size.has_value() ? static_cast<curl_off_t>(*size) : curl_off_t{-1});
    } else if (has_text) {
        const std::string_view text = body_.text();
        curl_easy_setopt(easy_, CURLOPT_POST, 1L);
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(text.size()));
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, text.empty() ? "" : text.data());
    }
}

// libcurl searches the list for each name that it knows, and formats each entry byte by byte. So
// fields that libcurl need not know go into one entry, as lines of it. Names and values have been
// checked: a field is exactly one line.
void easy_request::set_headers(const client_request& request, const client_settings& settings) {
    const bool is_plain_get = kind_ == kind::plain_get;
    const bool is_plain =
        is_plain_get && request.headers().empty() && settings.default_headers.empty();
    if (is_plain && has_plain_headers_) {
        return;
    }
    has_plain_headers_ = is_plain;
    const auto is_withheld = [&](std::string_view name) {
        return request.has_left_origin() && is_origin_secret(name);
    };
    const auto has = [&](std::string_view name) {
        return request.headers().contains(name) || settings.default_headers.contains(name);
    };
    header_list_.clear();
    header_lines_.clear();
    const auto add = [this](std::string_view name, std::string_view value) {
        if (value.empty()) {
            header_list_.add({name, ";"});
        } else if (is_known_to_curl(name)) {
            header_list_.add({name, ": ", value});
        } else {
            header_lines_ += header_lines_.empty() ? "" : "\r\n";
            header_lines_ += name;
            header_lines_ += ": ";
            header_lines_ += value;
        }
    };
    if (!settings.user_agent.empty() && !has("User-Agent")) {
        add("User-Agent", settings.user_agent);
    }
    accepts_encodings_ = settings.options.decompress && !has("Accept-Encoding");
    if (accepts_encodings_) {
        add("Accept-Encoding", "gzip, br");
    }
    for (const auto& [name, value] : request.headers()) {
        add(name, value);
    }
    for (const auto& [name, value] : settings.default_headers) {
        if (!request.headers().contains(name) && !is_withheld(name)) {
            add(name, value);
        }
    }
    if (!is_plain_get) {
        // Suppresses headers that libcurl would add to a body.
        for (const std::string_view each : {"Expect", "Content-Type"}) {
            if (!has(each)) {
                header_list_.add({each, ":"});
            }
        }
    }
    if (!header_lines_.empty()) {
        header_list_.add({header_lines_});
    }
    if (has_headers_ || !header_list_.empty()) {
        has_headers_ = !header_list_.empty();
        curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_.get());
    }
}

}  // namespace weir::http::detail
