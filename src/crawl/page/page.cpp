// SPDX-License-Identifier: MIT
// The names of page states.

#include <weir/crawl/page.hpp>

namespace weir::crawl {

std::string_view name_of(page_state state) noexcept {
    switch (state) {
        case page_state::pending:
            return "pending";
        case page_state::done:
            return "done";
        case page_state::failed:
            return "failed";
        case page_state::skipped:
            return "skipped";
    }
    return "?";
}

}  // namespace weir::crawl
