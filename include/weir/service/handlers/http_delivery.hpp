// SPDX-License-Identifier: MIT
// The handler 'http': delivers a request.
//
//     service::http_delivery delivery({.keys = {}});
//     tasks.handle("http", [&](service::job& job) { return delivery.deliver(job); });
//
//     {"kind": "http", "payload": {"url": "https://example.com/hook", "body": {"event": "paid"}}}
//
// Members of the payload: url; method ('POST'); headers, an object of texts, except headers of the
// connection (Host, Content-Length and the like); body, any JSON, or a text that is sent as it is;
// timeout in seconds. With keys, each request is signed as specified by Standard Webhooks; the
// header webhook-id is the task's id on every attempt. Errors name the URL without its password
// and query.
//
// A 2xx response completes the task; its status, type and the beginning of its body are the result.
// Redirects are not followed. 410 is a permanent failure. Every other response, and none, is a
// failure and retried, no sooner than Retry-After says. Each host has its own rate, concurrency
// limit and circuit (host_policies.hpp): while they do not admit a request, tasks for the host are
// postponed, which spends no attempt. Addresses that are not public are refused when connecting, as
// a permanent failure.
//
// Belongs to one loop, and must outlive the service.
#pragma once

#include <weir/clock.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/http/host_policies.hpp>
#include <weir/service/handlers/webhook_signature.hpp>
#include <weir/service/job.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace weir::dns {
class resolver;
}

namespace weir::service {

struct http_delivery_options {
    // Per host. Its retries are not used, since tasks have their own, and max_wait is at most one
    // second. attempt_timeout applies to requests whose payload has no timeout.
    http::host_policies_options hosts{
        .rate = 50, .burst = 50, .max_concurrent = 16, .attempt_timeout = std::chrono::seconds(30)};
    std::size_t max_connections = 256;
    std::size_t max_answer_bytes = 16 << 10;  // kept in the result
    std::string_view user_agent = "weir";
    dns::resolver* resolver = nullptr;  // default: the loop's
};

class http_delivery {
public:
    // Throws invalid_argument for invalid options.
    explicit http_delivery(const http_delivery_options& options = {},
                           http::address_filter filter = http::address_filter::public_only(),
                           std::vector<webhook_key> keys = {});
    http_delivery(const http_delivery&) = delete;
    http_delivery& operator=(const http_delivery&) = delete;
    ~http_delivery();

    weir::task<boost::json::value> deliver(job& job);
    // Throws permanent_failure if the payload is invalid, so that it is refused at submit.
    static void check(const boost::json::value& payload);

    http::host_policies& hosts() noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace weir::service
