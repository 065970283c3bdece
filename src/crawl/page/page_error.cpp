// SPDX-License-Identifier: MIT
// The names of error kinds and stages, in tables whose order is that of the enumerations.

#include <weir/crawl/page_error.hpp>

#include <array>
#include <cstddef>

namespace weir::crawl {

namespace {

constexpr std::array<std::string_view, 14> error_names = {
    "none",     "dns",      "connect",  "tls",    "timeout",         "truncated", "too_large",
    "http_4xx", "http_5xx", "redirect", "robots", "address_refused", "breaker",   "content"};
constexpr std::array<std::string_view, 6> stage_names = {"none", "admit", "connect",
                                                         "head", "body",  "handler"};

template <class Kind, std::size_t Size>
std::optional<Kind> kind_in_table(const std::array<std::string_view, Size>& names,
                                  std::string_view name) noexcept {
    for (std::size_t i = 0; i < Size; ++i) {
        if (names[i] == name) {
            return static_cast<Kind>(i);
        }
    }
    return std::nullopt;
}

}  // namespace

std::string_view name_of(error_kind kind) noexcept {
    return error_names[static_cast<std::size_t>(kind)];
}
std::optional<error_kind> error_kind_named(std::string_view name) noexcept {
    return kind_in_table<error_kind>(error_names, name);
}

std::string_view name_of(fetch_stage stage) noexcept {
    return stage_names[static_cast<std::size_t>(stage)];
}
std::optional<fetch_stage> fetch_stage_named(std::string_view name) noexcept {
    return kind_in_table<fetch_stage>(stage_names, name);
}

bool is_transient(error_kind kind) noexcept {
    switch (kind) {
        case error_kind::dns:
        case error_kind::connect:
        case error_kind::tls:
        case error_kind::timeout:
        case error_kind::truncated:
        case error_kind::http_5xx:
            return true;
        default:
            return false;
    }
}

}  // namespace weir::crawl
