// SPDX-License-Identifier: MIT
// Identities are lines of 'option value': the lines that only one of them has are the difference.

#include "crawl/store/lines.hpp"

#include <weir/crawl/memory_store.hpp>

#include <algorithm>

namespace weir::crawl {

namespace {

std::string lines_missing_in(const std::vector<std::string>& these,
                             const std::vector<std::string>& others) {
    std::string found;
    for (const std::string& each : these) {
        if (std::find(others.begin(), others.end(), each) == others.end()) {
            found += (found.empty() ? "'" : ", '") + each + "'";
        }
    }
    return found.empty() ? "nothing" : found;
}

}  // namespace

void check_identity(std::string_view stored, std::string_view given) {
    if (stored == given) {
        return;
    }
    const std::vector<std::string> before = detail::lines_of(stored);
    const std::vector<std::string> now = detail::lines_of(given);
    throw store_error(
        "the crawl was started with other options: it had " + lines_missing_in(before, now) +
        ", this run has " + lines_missing_in(now, before) +
        "; use the same options, another state, or accept the change (--accept-changes)");
}

}  // namespace weir::crawl
