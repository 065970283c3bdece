// SPDX-License-Identifier: MIT
// What a request wants done.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::http {

enum class method : std::uint8_t {
    get,
    head,
    post,
    put,
    patch,
    delete_,
    options,
    connect,
    trace,
    other,  // any other name; see request::method_name()
};

// 'GET'; empty for other.
std::string_view name_of(method which) noexcept;
// Names are case-sensitive: 'get' is other.
method method_of(std::string_view name) noexcept;

// Whether sending a request twice has the same effect as sending it once.
constexpr bool is_idempotent(method which) noexcept {
    return which != method::post && which != method::patch && which != method::connect &&
           which != method::other;
}

}  // namespace weir::http
