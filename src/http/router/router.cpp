// SPDX-License-Identifier: MIT
// The words that people use; the work is in the table.

#include "http/router/route_table.hpp"

#include <weir/error.hpp>
#include <weir/http/router.hpp>

#include <string>
#include <utility>

namespace weir::http {

router::router() : table_(std::make_unique<detail::route_table>()) {}
router::router(router&&) noexcept = default;
router& router::operator=(router&&) noexcept = default;
router::~router() = default;

router& router::get(std::string_view pattern, handler answer) {
    return route(method::get, pattern, std::move(answer));
}

router& router::head(std::string_view pattern, handler answer) {
    return route(method::head, pattern, std::move(answer));
}

router& router::post(std::string_view pattern, handler answer) {
    return route(method::post, pattern, std::move(answer));
}

router& router::put(std::string_view pattern, handler answer) {
    return route(method::put, pattern, std::move(answer));
}

router& router::patch(std::string_view pattern, handler answer) {
    return route(method::patch, pattern, std::move(answer));
}

router& router::delete_(std::string_view pattern, handler answer) {
    return route(method::delete_, pattern, std::move(answer));
}

router& router::options(std::string_view pattern, handler answer) {
    return route(method::options, pattern, std::move(answer));
}

router& router::any(std::string_view pattern, handler answer) {
    table_->add({}, pattern, std::move(answer));
    return *this;
}

router& router::route(method which, std::string_view pattern, handler answer) {
    if (which == method::other) {
        throw invalid_argument("router: the pattern '" + std::string(pattern) +
                               "': methods without a name here are given by theirs");
    }
    table_->add(name_of(which), pattern, std::move(answer));
    return *this;
}

router& router::route(std::string_view method_name, std::string_view pattern, handler answer) {
    if (!is_token(method_name)) {
        throw invalid_argument("router: the pattern '" + std::string(pattern) + "': '" +
                               std::string(method_name) + "' is no name of a method");
    }
    table_->add(method_name, pattern, std::move(answer));
    return *this;
}

router& router::use(middleware before) {
    table_->use(std::move(before));
    return *this;
}

router& router::mount(std::string_view prefix, router other) {
    table_->mount(prefix, *other.table_);
    return *this;
}

router& router::fallback(handler answer) {
    table_->set_fallback(std::move(answer));
    return *this;
}

task<response> router::operator()(request& asked) {
    return table_->answer(asked);
}

}  // namespace weir::http
