// SPDX-License-Identifier: MIT
// Middleware: lets pages of other sites use this server from a browser (cross-origin resource
// sharing).
//
//     app.use(http::cors()
//                 .allow_origin("https://app.example.com")
//                 .allow_header("Content-Type")
//                 .allow_credentials()
//                 .max_age(1h));
//
// Preflight requests are answered here and reach no handler. Requests of other origins are answered
// too, but without the headers that let a browser show the response to the page: this protects the
// users of browsers, not the server. Vary tells caches what the response depends on. Use it before
// middleware that refuses requests, such as bearer_auth: preflight requests have no credentials.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/clock.hpp>
#include <weir/http/handler.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http {

class cors {
public:
    cors() = default;

    // 'https://app.example.com', 'http://localhost:3000': as browsers write it, compared byte by
    // byte. Throws invalid_argument for a text that no browser sends, such as one with a slash at
    // the end.
    cors& allow_origin(std::string_view origin);
    // Any origin. Together with allow_credentials() this would open the data of users to every
    // page: each of the two throws invalid_argument after the other.
    cors& allow_any_origin();
    // Origins for which the function gives true.
    cors& allow_origins_if(weir::detail::unique_function<bool(std::string_view)> rule);
    // Cookies and passwords that the browser stores.
    cors& allow_credentials();
    // Default: GET, HEAD, POST, PUT, PATCH and DELETE.
    cors& allow_method(std::string_view name);
    // A header of requests, besides those that are always allowed.
    cors& allow_header(std::string_view name);
    cors& allow_any_header();
    // A header of responses that pages may read.
    cors& expose_header(std::string_view name);
    // How long browsers may cache the response to a preflight request; default: not at all.
    template <class Rep, class Period>
    cors& max_age(std::chrono::duration<Rep, Period> time) {
        return set_max_age(weir::detail::to_nanoseconds(time));
    }

    task<response> operator()(request& request, next inner) const;

private:
    cors& set_max_age(clock::duration time);
    bool allows(std::string_view origin) const;
    void allow(headers& to, std::string_view origin) const;
    response preflight(const request& request) const;

    std::vector<std::string> origins_;
    std::shared_ptr<weir::detail::unique_function<bool(std::string_view)>> rule_;
    bool is_any_origin_ = false;
    bool has_credentials_ = false;
    bool is_any_header_ = false;
    std::string methods_;  // as in the header
    std::string headers_;
    std::string exposed_;
    std::string max_age_;
};

}  // namespace weir::http
