// SPDX-License-Identifier: MIT
// Registered kinds are few, as a person or a deployment decides them; patterns are fewer.

#include "service/engine/remote_kinds.hpp"

#include "base/quoted.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::service::detail {

remote_kinds::remote_kinds(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {
    for (const std::string& each : patterns_) {
        const std::size_t star = each.find('*');
        if (each.empty() || each.size() > 100 ||
            (star != std::string::npos && star + 1 != each.size())) {
            throw invalid_argument(
                "remote_kinds: a kind, or the beginning of kinds and '*', such as images/*, is "
                "expected; not " +
                base::quoted(each, 60));
        }
    }
}

void remote_kinds::set_registered(const std::vector<std::string>& kinds) {
    registered_ = {kinds.begin(), kinds.end()};
}

void remote_kinds::add(const std::vector<std::string>& kinds) {
    registered_.insert(kinds.begin(), kinds.end());
}

void remote_kinds::remove(std::string_view kind) {
    if (const auto found = registered_.find(kind); found != registered_.end()) {
        registered_.erase(found);
    }
}

bool remote_kinds::contains(std::string_view kind) const {
    return is_registered(kind) || std::ranges::any_of(patterns_, [kind](std::string_view pattern) {
               return pattern.ends_with('*')
                          ? kind.starts_with(pattern.substr(0, pattern.size() - 1))
                          : kind == pattern;
           });
}

}  // namespace weir::service::detail
