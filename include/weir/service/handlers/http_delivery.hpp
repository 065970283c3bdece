// SPDX-License-Identifier: MIT
// The handler 'http': delivers a request.
//
//     service::http_delivery delivery({.keys = {}});
//     tasks.handle("http", [&](service::job& job) { return delivery.deliver(job); },
//                  &service::http_delivery::check, delivery.destinations());
//
//     {"kind": "http", "payload": {"url": "https://example.com/hook", "body": {"event": "paid"}}}
//
// Members of the payload: url; method ('POST'); headers, an object of texts, except headers of the
// connection (Host, Content-Length and the like); body, any JSON, which is sent byte by byte as it
// was submitted, or a text that is sent as it is;
// timeout in seconds. With keys, each request is signed as specified by Standard Webhooks; the
// header webhook-id is the task's id on every attempt. Errors name the URL without its password
// and query.
//
// A 2xx response completes the task; its status, type and the beginning of its body are the result:
// as JSON if it is JSON, else as a text.
// Redirects are not followed. 410 is a permanent failure. Every other response, and none, is a
// failure and retried, no sooner than Retry-After says. Each scheme, host and port is a destination
// with its own rate, concurrency limit and circuit (destination.hpp): while they do not admit a
// request, the tasks for it wait in the store. No response, and the statuses 502, 503, 504 and 429
// without Retry-After, count as failures of the destination. If such a response has Retry-After, no
// task is sent there until then. Addresses that are not public are refused when connecting, as a
// permanent failure.
//
// Belongs to one loop, and must outlive the service.
#pragma once

#include <weir/clock.hpp>
#include <weir/http/address_filter.hpp>
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
namespace weir::http {
class host_policies;
}

namespace weir::service {

struct http_delivery_options {
    // For each scheme, host and port, by destinations().
    destination_limits hosts{.max_running = 16, .rate = 50, .burst = 50, .open_after = 10};
    // Upper bound of Retry-After for the other tasks of a host: one path must not hold up the host
    // for days.
    clock::duration max_pause = std::chrono::hours(1);
    clock::duration timeout = std::chrono::seconds(30);  // of requests whose payload has none
    std::size_t max_connections = 256;
    std::size_t max_answer_bytes = 16 << 10;  // kept in the result
    std::string_view user_agent = "weir";
    dns::resolver* resolver = nullptr;  // default: the loop's
    // Policies that deliveries share with other users of their hosts in this process, such as
    // crawl_tasks: a delivery waits for its turn, and is postponed while the host must not be used.
    http::host_policies* shared = nullptr;
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

    // 'https://example.com', 'http://example.com:8080', with the limits of the options.
    destination_rule destinations() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace weir::service
