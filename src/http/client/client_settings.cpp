// SPDX-License-Identifier: MIT
// Options are checked when the client is made. An easy handle gets the client's options once, when
// it is first used; options of a single request are set by easy_request.

#include "http/client/client_settings.hpp"

#include "http/curl/certificate_names.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <cstdint>

namespace weir::http::detail {

namespace {

template <class Value>
void check(bool is_valid, const char* option, Value value, const char* expected) {
    if (!is_valid) {
        throw invalid_argument(std::string("client_options::") + option + " is " +
                               std::to_string(value) + ": it must be " + expected);
    }
}

void check_time(clock::duration value, const char* option) {
    check(value > clock::duration::zero(), option, value.count(), "more than 0 ns");
}

}  // namespace

long to_curl_milliseconds(clock::duration time) noexcept {
    const auto count = std::chrono::ceil<std::chrono::milliseconds>(time).count();
    return static_cast<long>(std::clamp<std::int64_t>(count, 1, 86'400'000));
}

client_settings::client_settings(const client_options& user_options)
    : options(user_options),
      user_agent(user_options.user_agent),
      ca_file(user_options.tls.ca_file),
      ca_dir(user_options.tls.ca_dir),
      ca_pem(user_options.tls.ca_pem),
      certificate_file(user_options.tls.certificate_file),
      key_file(user_options.tls.key_file),
      certificate_pem(user_options.tls.certificate_pem),
      key_pem(user_options.tls.key_pem),
      key_password(user_options.tls.key_password),
      ciphers(user_options.tls.ciphers),
      tls13_ciphers(user_options.tls.tls13_ciphers),
      curves(user_options.tls.curves) {
    check(user_options.max_connections > 0, "max_connections", user_options.max_connections,
          "1 or more");
    check(user_options.max_per_host > 0, "max_per_host", user_options.max_per_host, "1 or more");
    check_time(user_options.idle_time, "idle_time");
    check_time(user_options.timeout, "timeout");
    check_time(user_options.connect_timeout, "connect_timeout");
    check_time(user_options.stall_timeout, "stall_timeout");
    check(user_options.max_redirects >= 0, "max_redirects", user_options.max_redirects,
          "0 or more");
    check(user_options.max_header_count > 0, "max_header_count", user_options.max_header_count,
          "1 or more");
    check(user_options.max_header_bytes > 0, "max_header_bytes", user_options.max_header_bytes,
          "1 or more");
    if (!is_field_value(user_agent)) {
        throw invalid_argument("client_options::user_agent cannot be sent as a header");
    }
    if (!user_options.proxy.empty()) {
        proxy = http::url::parse(user_options.proxy);
        if (proxy.scheme() != "http" && proxy.scheme() != "https") {
            throw invalid_argument("client_options::proxy is '" +
                                   without_password(user_options.proxy) +
                                   "': it must be an http or https URL");
        }
    }
    if (ca_file.empty() && ca_dir.empty() && !ca_pem.empty() &&
        ca_pem.find("-----BEGIN") == std::string::npos) {
        throw invalid_argument("client_options::tls.ca_pem contains no certificate");
    }
}

void client_settings::configure(CURL* easy, CURLSH* share) const {
    const auto set = [easy](CURLoption option, auto value) {
        set_curl_option(easy, option, value);
    };
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_NOPROGRESS, 1L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_HTTP_VERSION,
        options.http2 ? long{CURL_HTTP_VERSION_2TLS} : long{CURL_HTTP_VERSION_1_1});
    set(CURLOPT_PIPEWAIT, options.multiplex ? 1L : 0L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    // Addresses come from the host table and do not expire in libcurl, which would otherwise search
    // all of them for expired ones at the end of each transfer.
    set(CURLOPT_DNS_CACHE_TIMEOUT, -1L);
    set(CURLOPT_MAXAGE_CONN, std::max(1L, to_curl_milliseconds(options.idle_time) / 1000));
    set(CURLOPT_SHARE, share);
    if (options.cookies) {
        set(CURLOPT_COOKIEFILE, "");
    }
    set(CURLOPT_PROXY, proxy.empty() ? "" : proxy.without_credentials().text().c_str());
    set(CURLOPT_NOPROXY, "");
    if (proxy.has_credentials()) {
        set(CURLOPT_PROXYUSERNAME, proxy.user().c_str());
        set(CURLOPT_PROXYPASSWORD, proxy.password().c_str());
    }
    configure_tls(easy);
}

void client_settings::configure_tls(CURL* easy) const {
    const auto set = [easy](CURLoption option, auto value) {
        set_curl_option(easy, option, value);
    };
    const auto set_text = [&](CURLoption option, const std::string& text) {
        if (!text.empty()) {
            set(option, text.c_str());
        }
    };
    const auto set_blob = [&](CURLoption option, const std::string& text) {
        if (!text.empty()) {
            curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
            set(option, &blob);
        }
    };
    const tls::client_options& tls = options.tls;
    const long lowest =
        tls.min_version == tls::version::tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2;
    const long highest = tls.max_version == tls::version::tls13 ? CURL_SSLVERSION_MAX_TLSv1_3
                                                                : CURL_SSLVERSION_MAX_TLSv1_2;
    set(CURLOPT_SSLVERSION, lowest | highest);
    set(CURLOPT_PROXY_SSLVERSION, lowest | highest);
    for (const CURLoption each : {CURLOPT_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYPEER}) {
        set(each, tls.verify ? 1L : 0L);
    }
    for (const CURLoption each : {CURLOPT_SSL_VERIFYHOST, CURLOPT_PROXY_SSL_VERIFYHOST}) {
        set(each, tls.verify ? 2L : 0L);
    }
    if (tls.verify) {
        require_certificate_names(easy);
    }
    set_text(CURLOPT_SSL_CIPHER_LIST, ciphers);
    set_text(CURLOPT_PROXY_SSL_CIPHER_LIST, ciphers);
    set_text(CURLOPT_TLS13_CIPHERS, tls13_ciphers);
    set_text(CURLOPT_PROXY_TLS13_CIPHERS, tls13_ciphers);
    set_text(CURLOPT_SSL_EC_CURVES, curves);
    if (!ca_file.empty() || !ca_dir.empty() || !ca_pem.empty()) {
        // Trust only these, without the system's certificates.
        for (const CURLoption each :
             {CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH}) {
            set(each, static_cast<char*>(nullptr));
        }
    }
    set_text(CURLOPT_CAINFO, ca_file);
    set_text(CURLOPT_CAPATH, ca_dir);
    set_blob(CURLOPT_CAINFO_BLOB, ca_pem);
    set_text(CURLOPT_PROXY_CAINFO, ca_file);
    set_text(CURLOPT_PROXY_CAPATH, ca_dir);
    set_blob(CURLOPT_PROXY_CAINFO_BLOB, ca_pem);
    set_text(CURLOPT_SSLCERT, certificate_file);
    set_text(CURLOPT_SSLKEY, key_file);
    set_blob(CURLOPT_SSLCERT_BLOB, certificate_pem);
    set_blob(CURLOPT_SSLKEY_BLOB, key_pem);
    set_text(CURLOPT_KEYPASSWD, key_password);
}

}  // namespace weir::http::detail
