// SPDX-License-Identifier: MIT
// Middleware: gives a record of each request to a function, as a line or as fields.
//
//     app.use(http::access_log([](std::string_view line) { std::cout << line << '\n'; }));
//     app.use(http::access_log([&](const http::access_record& record) { ... }));
//
// Use it first, so that it sees the responses of all other middleware. A record is made when the
// handler has answered, when a streamed body has ended or failed, or when the request was stopped.
// A line is always one line: control characters, quotes and bytes beyond ASCII are escaped (\n,
// \x1b). It contains no credentials, unless they are in the target.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/clock.hpp>
#include <weir/http/handler.hpp>
#include <weir/http/status.hpp>
#include <weir/io/address.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir::http {

// Texts are unchanged from the request, and valid during the call.
struct access_record {
    std::chrono::system_clock::time_point time{};  // when the request arrived
    io::address client{};                          // see trusted_proxies.hpp
    std::string_view principal{};                  // see bearer_auth.hpp; empty: none
    std::string_view method{};
    std::string_view target{};
    std::string_view route{};  // '/tasks/{id}'; empty: no route matched
    unsigned minor_version = 1;
    std::optional<status> code{};          // empty: stopped before the handler answered
    std::optional<std::uint64_t> bytes{};  // of the body; empty: unknown
    clock::duration duration{};
    std::string_view referer{};
    std::string_view user_agent{};
    std::string_view request_id{};  // see request_id.hpp
};

// The format 'combined' of other servers, and the duration in seconds:
// 192.0.2.7 - alice [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 2326 "-" "curl/8" 0.001234
std::string to_line(const access_record& record);

class access_log {
public:
    using sink = weir::detail::unique_function<void(const access_record&)>;

    // The function is called for each request; an exception of it is reported, and the request is
    // not affected.
    template <class Callable>
        requires std::invocable<std::decay_t<Callable>&, const access_record&>
    explicit access_log(Callable&& to)
        : sink_(std::make_shared<sink>(std::forward<Callable>(to))) {}
    template <class Callable>
        requires(std::invocable<std::decay_t<Callable>&, std::string_view> &&
                 !std::invocable<std::decay_t<Callable>&, const access_record&>)
    explicit access_log(Callable&& to)
        : access_log([to = std::decay_t<Callable>(std::forward<Callable>(to))](
                         const access_record& record) mutable { to(to_line(record)); }) {}

    task<response> operator()(request& request, next inner) const;

private:
    std::shared_ptr<sink> sink_;  // streams may end after the server
};

}  // namespace weir::http
