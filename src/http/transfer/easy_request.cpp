// SPDX-License-Identifier: MIT
// From requests to libcurl's options. Options that belong to the client are set once in the life of
// an easy handle; those of a request are set anew each time, all of them.

#include "http/client/client_core.hpp"
#include "http/client/redirect.hpp"
#include "http/transfer/transfer.hpp"
#include "http/transfer/upload.hpp"

#include <algorithm>
#include <new>

namespace weir::http::detail {

namespace {

long milliseconds(clock::duration given) noexcept {
    const auto count = std::chrono::ceil<std::chrono::milliseconds>(given).count();
    return static_cast<long>(std::clamp<std::int64_t>(count, 1, 86'400'000));
}

// Those that change what it does, or that it would add itself.
bool is_known_to_curl(std::string_view name) noexcept {
    for (const std::string_view each :
         {"Host", "Accept", "Content-Type", "Content-Length", "Transfer-Encoding", "Expect",
          "Connection", "TE", "Authorization", "Cookie", "Referer", "Range", "Content-Range",
          "Upgrade", "Alt-Used", "Date"}) {
        if (same_name(name, each)) {
            return true;
        }
    }
    return false;
}

}  // namespace

void transfer::configure() {
    const client_settings& settings = core_->settings();
    const client_options& options = settings.plain;
    const auto set = [this](CURLoption which, auto value) {
        if (curl_easy_setopt(easy_, which, value) == CURLE_OUT_OF_MEMORY) {
            throw std::bad_alloc();
        }
    };
    set(CURLOPT_PRIVATE, static_cast<void*>(this));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_NOPROGRESS, 1L);
    set(CURLOPT_ERRORBUFFER, error_text_);
    set(CURLOPT_HEADERFUNCTION, &on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_READFUNCTION, &on_read);
    set(CURLOPT_READDATA, this);
    set(CURLOPT_SEEKFUNCTION, &on_seek);
    set(CURLOPT_SEEKDATA, this);
    set(CURLOPT_OPENSOCKETFUNCTION, &on_open);
    set(CURLOPT_OPENSOCKETDATA, this);
    set(CURLOPT_CLOSESOCKETFUNCTION, &client_core::close_socket);
    set(CURLOPT_CLOSESOCKETDATA, static_cast<curl_multi*>(core_.get()));
    set(CURLOPT_PREREQFUNCTION, &on_connected);
    set(CURLOPT_PREREQDATA, this);
    set(CURLOPT_RESOLVER_START_FUNCTION, &on_resolve);
    set(CURLOPT_RESOLVER_START_DATA, this);

    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_HTTP_VERSION,
        options.http2 ? long{CURL_HTTP_VERSION_2TLS} : long{CURL_HTTP_VERSION_1_1});
    set(CURLOPT_PIPEWAIT, options.multiplex ? 1L : 0L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_MAXAGE_CONN, std::max(1L, milliseconds(options.idle_time) / 1000));
    set(CURLOPT_SHARE, core_->share());
    if (options.cookies) {
        set(CURLOPT_COOKIEFILE, "");
    }
    set(CURLOPT_PROXY,
        settings.proxy.empty() ? "" : settings.proxy.without_credentials().text().c_str());
    set(CURLOPT_NOPROXY, "");
    if (settings.proxy.has_credentials()) {
        set(CURLOPT_PROXYUSERNAME, settings.proxy.user().c_str());
        set(CURLOPT_PROXYPASSWORD, settings.proxy.password().c_str());
    }
    configure_tls();
}

void transfer::configure_tls() {
    const client_settings& settings = core_->settings();
    const tls::client_options& options = settings.plain.tls;
    const auto set = [this](CURLoption which, auto value) {
        if (curl_easy_setopt(easy_, which, value) == CURLE_OUT_OF_MEMORY) {
            throw std::bad_alloc();
        }
    };
    const auto set_text = [&](CURLoption which, const std::string& text) {
        if (!text.empty()) {
            set(which, text.c_str());
        }
    };
    const auto set_blob = [&](CURLoption which, const std::string& text) {
        if (!text.empty()) {
            curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
            set(which, &blob);
        }
    };
    const long lowest = options.min_version == tls::version::tls13 ? CURL_SSLVERSION_TLSv1_3
                                                                   : CURL_SSLVERSION_TLSv1_2;
    const long highest = options.max_version == tls::version::tls13 ? CURL_SSLVERSION_MAX_TLSv1_3
                                                                    : CURL_SSLVERSION_MAX_TLSv1_2;
    set(CURLOPT_SSLVERSION, lowest | highest);
    set(CURLOPT_PROXY_SSLVERSION, lowest | highest);
    for (const CURLoption each : {CURLOPT_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYPEER}) {
        set(each, options.verify ? 1L : 0L);
    }
    for (const CURLoption each : {CURLOPT_SSL_VERIFYHOST, CURLOPT_PROXY_SSL_VERIFYHOST}) {
        set(each, options.verify ? 2L : 0L);
    }
    if (!settings.ca_file.empty() || !settings.ca_dir.empty() || !settings.ca_pem.empty()) {
        // Those alone, and not the system's as well.
        for (const CURLoption each :
             {CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH}) {
            set(each, static_cast<char*>(nullptr));
        }
    }
    set_text(CURLOPT_CAINFO, settings.ca_file);
    set_text(CURLOPT_CAPATH, settings.ca_dir);
    set_blob(CURLOPT_CAINFO_BLOB, settings.ca_pem);
    set_text(CURLOPT_PROXY_CAINFO, settings.ca_file);
    set_text(CURLOPT_PROXY_CAPATH, settings.ca_dir);
    set_blob(CURLOPT_PROXY_CAINFO_BLOB, settings.ca_pem);
    set_text(CURLOPT_SSLCERT, settings.certificate_file);
    set_text(CURLOPT_SSLKEY, settings.key_file);
    set_blob(CURLOPT_SSLCERT_BLOB, settings.certificate_pem);
    set_blob(CURLOPT_SSLKEY_BLOB, settings.key_pem);
    set_text(CURLOPT_KEYPASSWD, settings.key_password);
}

// Given as a text, libcurl would take it apart for each request. It keeps the text of the last one,
// and has to be told to forget it.
void transfer::set_url(const http::url& wanted) {
    if (url_ == wanted) {
        return;
    }
    url_ = http::url();
    if (curl_url_set(location_, CURLUPART_URL, wanted.text().c_str(), CURLU_PATH_AS_IS) !=
        CURLUE_OK) {
        throw std::bad_alloc();  // a url is what libcurl takes for one
    }
    curl_easy_setopt(easy_, CURLOPT_URL, nullptr);
    curl_easy_setopt(easy_, CURLOPT_CURLU, location_);
    url_ = wanted;
}

// Setting an option copies texts and costs as much as a small system call: what is set already
// stays.
void transfer::set_method(const client_request& wanted) {
    const http::method method = wanted.method();
    const bool has_text = !sent_.empty() || method == http::method::post ||
                          method == http::method::put || method == http::method::patch;
    const shape wants = method == http::method::head ? shape::head
                        : sending_ != nullptr        ? shape::stream
                        : has_text                   ? shape::text
                                                     : shape::get;
    if (wants == shape_ && wants == shape::get && method == http::method::get) {
        return;
    }
    curl_easy_setopt(easy_, CURLOPT_UPLOAD, 0L);
    curl_easy_setopt(easy_, CURLOPT_NOBODY, 0L);
    curl_easy_setopt(easy_, CURLOPT_HTTPGET, 1L);
    const bool is_known =
        wants == shape::head || (wants == shape::get && method == http::method::get);
    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST,
                     is_known ? nullptr : wanted.method_name().c_str());
    // None, unless it is a plain GET: then the next may leave all of this as it is.
    shape_ = wants == shape::get && is_known ? shape::get : shape::none;
    if (wants == shape::head) {
        curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
    } else if (wants == shape::stream) {
        curl_easy_setopt(easy_, CURLOPT_UPLOAD, 1L);
        const std::optional<std::uint64_t> size = sending_->size();
        curl_easy_setopt(easy_, CURLOPT_INFILESIZE_LARGE,
                         size.has_value() ? static_cast<curl_off_t>(*size) : curl_off_t{-1});
    } else if (wants == shape::text) {
        const std::string_view text = sent_.text();
        curl_easy_setopt(easy_, CURLOPT_POST, 1L);
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(text.size()));
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, text.empty() ? "" : text.data());
    }
}

// libcurl looks through the list for each name that it knows, and formats each entry byte by byte:
// fields that it need not know go into one entry, as lines of it. Names and values are checked, so
// that a field is one line and no more.
void transfer::set_headers(const client_request& wanted) {
    const client_settings& settings = core_->settings();
    const bool is_plain =
        shape_ == shape::get && wanted.headers().empty() && settings.default_headers.empty();
    if (is_plain && has_plain_headers_) {
        return;
    }
    has_plain_headers_ = is_plain;
    const auto is_withheld = [&](std::string_view name) {
        return wanted.has_left_origin() &&
               std::any_of(secrets_of_an_origin.begin(), secrets_of_an_origin.end(),
                           [&](std::string_view each) { return same_name(name, each); });
    };
    const auto has = [&](std::string_view name) {
        return wanted.headers().contains(name) || settings.default_headers.contains(name);
    };
    header_list_.clear();
    lines_.clear();
    const auto add = [this](std::string_view name, std::string_view value) {
        if (value.empty()) {
            header_list_.add({name, ";"});
        } else if (is_known_to_curl(name)) {
            header_list_.add({name, ": ", value});
        } else {
            lines_ += lines_.empty() ? "" : "\r\n";
            lines_ += name;
            lines_ += ": ";
            lines_ += value;
        }
    };
    if (!settings.user_agent.empty() && !has("User-Agent")) {
        add("User-Agent", settings.user_agent);
    }
    decodes_ = settings.plain.decompress && !has("Accept-Encoding");
    if (decodes_) {
        add("Accept-Encoding", "gzip, br");
    }
    for (const auto& [name, value] : wanted.headers()) {
        add(name, value);
    }
    for (const auto& [name, value] : settings.default_headers) {
        if (!wanted.headers().contains(name) && !is_withheld(name)) {
            add(name, value);
        }
    }
    if (shape_ != shape::get) {
        // What libcurl would add to a body of its own accord.
        for (const std::string_view each : {"Expect", "Content-Type"}) {
            if (!has(each)) {
                header_list_.add({each, ":"});
            }
        }
    }
    if (!lines_.empty()) {
        header_list_.add({lines_});
    }
    if (has_headers_ || !header_list_.empty()) {
        has_headers_ = !header_list_.empty();
        curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_.get());
    }
}

// The limit is kept by our timer. libcurl has to know it to give the first of several addresses
// only a part of the time.
void transfer::set_connect_limit() {
    const long limit = has_several_addresses_ ? milliseconds(limits_.connect) : 0;
    if (limit != connect_limit_) {
        connect_limit_ = limit;
        curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, limit);
    }
}

}  // namespace weir::http::detail
