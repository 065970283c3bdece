// SPDX-License-Identifier: MIT
// Texts that stores keep as lines: texts of redirects, anchors, identities.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl::detail {

inline std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        lines.emplace_back(line);
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    }
    return lines;
}

}  // namespace weir::crawl::detail
