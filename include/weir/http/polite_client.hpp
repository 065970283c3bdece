// SPDX-License-Identifier: MIT
// A client with policies for each host, for crawlers and webhook senders.
//
//     weir::http::polite_client polite(client, {.rate = 2, .max_concurrent = 1});
//     auto page = co_await polite.fetch("http://127.0.0.1:8080/");
//
// host_policies.hpp describes the policies: each host has its own rate, number of concurrent
// requests, retries and circuit. The client follows redirects below the policies: they count for
// the host of the first request.
#pragma once

#include <weir/http/client.hpp>
#include <weir/http/host_policies.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::http {

// A response with its complete body.
class fetched {
public:
    fetched(http::status code, http::headers fields, http::url from, std::string body) noexcept
        : code_(code), headers_(std::move(fields)), url_(std::move(from)), body_(std::move(body)) {}

    http::status status() const noexcept { return code_; }
    bool is_success() const noexcept { return http::is_success(code_); }
    const http::headers& headers() const noexcept { return headers_; }
    std::string_view header(std::string_view name) const noexcept { return headers_.get(name); }
    const http::url& url() const noexcept { return url_; }  // after redirects
    const std::string& body() const& noexcept { return body_; }
    std::string&& body() && noexcept { return std::move(body_); }

private:
    http::status code_;
    http::headers headers_;
    http::url url_;
    std::string body_;
};

// Belongs to the client's loop. The client must outlive it, and it must outlive its requests.
class polite_client {
public:
    static constexpr std::size_t default_body_limit = client_response::default_text_limit;

    // Throws invalid_argument for invalid options.
    explicit polite_client(client& sender, const host_policies_options& options = {})
        : client_(sender), policies_(options) {}
    polite_client(const polite_client&) = delete;
    polite_client& operator=(const polite_client&) = delete;

    // co_await fetch(request): the response with its body. Throws limit_exceeded if the body has
    // more than `limit` bytes. The policies cover the body: a request whose body fails is retried,
    // and the request occupies its place among those to the host until the body is complete.
    task<fetched> fetch(client_request request, std::size_t limit = default_body_limit);
    task<fetched> fetch(std::string_view url, std::size_t limit = default_body_limit);

    // The policies cover the request until the head of the response; the caller reads the body,
    // within the client's limits alone. Throws as client::send and host_policies::run do.
    task<client_response> send(client_request request);
    task<client_response> get(std::string_view url);
    task<client_response> post(std::string_view url, http::body content,
                               std::string_view content_type = "application/octet-stream");

    host_policies& policies() noexcept { return policies_; }

private:
    client& client_;
    host_policies policies_;
};

}  // namespace weir::http
