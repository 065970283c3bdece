// SPDX-License-Identifier: MIT
// One worker that has room and polls is enough for a task to be next. Otherwise a busy worker says
// more than a stuck one: it will poll again.

#include "service/store/worker_rules.hpp"

namespace weir::service::detail {

std::optional<hold::reason> reason_of(std::span<const worker_status> takers,
                                      timestamp now) noexcept {
    if (takers.empty()) {
        return hold::reason::no_worker;
    }
    const auto waits = [now](const worker_status& each) {
        return each.free > 0 && !each.is_stuck(now);
    };
    if (std::ranges::any_of(takers, waits)) {
        return std::nullopt;
    }
    const bool is_busy =
        std::ranges::any_of(takers, [](const worker_status& each) { return each.free == 0; });
    return is_busy ? hold::reason::workers_busy : hold::reason::worker_stuck;
}

}  // namespace weir::service::detail
