// SPDX-License-Identifier: MIT
// Middleware: which other sites' pages may use this server from a browser (cross-origin sharing).
//
//     app.use(http::cors()
//                 .allow_origin("https://app.example.com")
//                 .allow_header("Content-Type")
//                 .allow_credentials()
//                 .max_age(1h));
//
// Preflight requests are answered here and reach no handler. Requests of origins that are not
// allowed are answered as others are, without the headers by which a browser would show the answer
// to the page: this protects the users of browsers, not the server. Caches are told what the answer
// depends on (Vary). Use it before what refuses requests, such as bearer_auth: preflight requests
// have no credentials.
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

    // 'https://app.example.com', 'http://localhost:3000': as browsers write it, and compared byte
    // by byte. Throws invalid_argument for anything that can never be equal to it (a slash at the
    // end).
    cors& allow_origin(std::string_view origin);
    // All there are. With allow_credentials() it would open users' data to every page: each of the
    // two refuses the other, invalid_argument.
    cors& allow_any_origin();
    // Those of which the function says so.
    cors& allow_origins_if(weir::detail::unique_function<bool(std::string_view)> rule);
    // Cookies, and what browsers remember of passwords.
    cors& allow_credentials();
    // By its name. Unless given: GET, HEAD, POST, PUT, PATCH, DELETE.
    cors& allow_method(std::string_view name);
    // Of requests, besides those that are always allowed.
    cors& allow_header(std::string_view name);
    cors& allow_any_header();
    // Of answers, for the page to see.
    cors& expose_header(std::string_view name);
    // How long browsers may remember the answer to a preflight request; not at all unless given.
    template <class Rep, class Period>
    cors& max_age(std::chrono::duration<Rep, Period> time) {
        return set_max_age(weir::detail::to_nanoseconds(time));
    }

    task<response> operator()(request& asked, next inner) const;

private:
    cors& set_max_age(clock::duration time);
    bool allows(std::string_view origin) const;
    void allow(headers& to, std::string_view origin) const;
    response preflight(const request& asked) const;

    std::vector<std::string> origins_;
    std::shared_ptr<weir::detail::unique_function<bool(std::string_view)>> rule_;
    bool is_any_origin_ = false;
    bool has_credentials_ = false;
    bool is_any_header_ = false;
    std::string methods_;  // lists, as they are written
    std::string headers_;
    std::string exposed_;
    std::string max_age_;
};

}  // namespace weir::http
