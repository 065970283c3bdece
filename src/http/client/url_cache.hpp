// SPDX-License-Identifier: MIT
// Parsed URLs by their text: most clients request the same few again and again.
#pragma once

#include <weir/http/url.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace weir::http::detail {

class url_cache {
public:
    static constexpr std::size_t capacity = 256;

    // As url::parse. The result is valid until the next call.
    const http::url& parse(std::string_view text) {
        const auto found = parsed_.find(text);
        if (found != parsed_.end()) {
            return found->second;
        }
        http::url fresh = http::url::parse(text);
        if (parsed_.size() >= capacity) {
            parsed_.clear();
        }
        return parsed_.emplace(text, std::move(fresh)).first->second;
    }
    std::size_t size() const noexcept { return parsed_.size(); }

private:
    struct text_hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::unordered_map<std::string, http::url, text_hash, std::equal_to<>> parsed_;
};

}  // namespace weir::http::detail
