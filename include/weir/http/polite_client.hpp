// SPDX-License-Identifier: MIT
// A client with policies for each host: what crawlers and senders of webhooks want, in two lines.
//
//     weir::http::polite_client polite(client, {.rate = 2, .max_concurrent = 1});
//     auto page = co_await polite.fetch("http://127.0.0.1:8080/");
//
// The policies are those of host_policies.hpp, where their meaning is: each host has its own rate,
// number of requests at a time, retries and circuit. Redirects are followed by the client, below
// the policies: they belong to the host that was asked first.
#pragma once

#include <weir/http/client.hpp>
#include <weir/http/host_policies.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::http {

// An answer that is all there.
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

    // Throws invalid_argument for options that make no sense.
    explicit polite_client(client& by, const host_policies_options& options = {})
        : client_(by), policies_(options) {}
    polite_client(const polite_client&) = delete;
    polite_client& operator=(const polite_client&) = delete;

    // co_await fetch(request): the answer with its body, of so many bytes at most: limit_exceeded
    // for more. The policies cover all of it: a body that does not come is tried again, and the
    // host's next request begins when this one has ended.
    task<fetched> fetch(client_request wanted, std::size_t limit = default_body_limit);
    task<fetched> fetch(std::string_view url, std::size_t limit = default_body_limit);

    // The same until the head of the answer is there; reading the body is up to the caller, and
    // limited by the client alone. As client::send, and what host_policies::run throws.
    task<client_response> send(client_request wanted);
    task<client_response> get(std::string_view url);
    task<client_response> post(std::string_view url, http::body content,
                               std::string_view content_type = "application/octet-stream");

    host_policies& policies() noexcept { return policies_; }

private:
    client& client_;
    host_policies policies_;
};

}  // namespace weir::http
