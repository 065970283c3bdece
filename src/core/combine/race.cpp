// SPDX-License-Identifier: MIT
// How a race is lost: the errors of all, in the order of the arguments.

#include <weir/race.hpp>

namespace weir::detail {

void throw_all_failed(std::span<fiber* const> losers) {
    std::vector<std::exception_ptr> errors;
    errors.reserve(losers.size());
    for (fiber* each : losers) {
        errors.push_back(error_or_cancellation(*each));
    }
    throw error_group(std::move(errors));
}

void throw_empty_race() {
    throw invalid_argument("race: there are no tasks, so none can succeed");
}

}  // namespace weir::detail
