// SPDX-License-Identifier: MIT
// Names of methods; their order is that of the enumeration.

#include <weir/http/method.hpp>

#include <array>
#include <cstddef>

namespace weir::http {

namespace {
constexpr std::array<std::string_view, 9> names = {"GET",    "HEAD",    "POST",    "PUT",  "PATCH",
                                                   "DELETE", "OPTIONS", "CONNECT", "TRACE"};
}

std::string_view name_of(method which) noexcept {
    return which == method::other ? std::string_view() : names[static_cast<std::size_t>(which)];
}

method method_of(std::string_view name) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) {
            return static_cast<method>(i);
        }
    }
    return method::other;
}

}  // namespace weir::http
