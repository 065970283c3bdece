// SPDX-License-Identifier: MIT
// Handlers that the tests of middleware put behind it.
#pragma once

#include <weir/http/error.hpp>
#include <weir/http/handler.hpp>

namespace middleware_test {

inline weir::http::handler says_ok() {
    return [] { return weir::http::response::text("ok"); };
}

inline weir::http::handler throws_gone() {
    return [](weir::http::request&) -> weir::http::response {
        throw weir::http::problem(weir::http::status::gone, "gone");
    };
}

}  // namespace middleware_test
