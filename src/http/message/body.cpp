// SPDX-License-Identifier: MIT
// A body is a text, held in one of several ways, or a function that writes it.

#include <weir/http/body.hpp>

namespace weir::http {

std::string_view body::text() const noexcept {
    if (const auto* const own = std::get_if<std::string>(&held_)) {
        return *own;
    }
    if (const auto* const forever = std::get_if<std::string_view>(&held_)) {
        return *forever;
    }
    if (const auto* const common = std::get_if<std::shared_ptr<const std::string>>(&held_)) {
        return *common != nullptr ? std::string_view(**common) : std::string_view();
    }
    return {};
}

std::optional<std::uint64_t> body::size() const noexcept {
    if (const auto* const stream = std::get_if<streamed>(&held_)) {
        return stream->size;
    }
    return text().size();
}

}  // namespace weir::http
