// SPDX-License-Identifier: MIT
// The arguments of the functions over streams, checked.

#include <weir/error.hpp>
#include <weir/flow/batch.hpp>
#include <weir/flow/consume.hpp>
#include <weir/flow/streams.hpp>

#include <limits>
#include <string>

namespace weir::detail {

void check_limit(std::size_t limit, const char* option) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (limit == 0 || limit > most) {
        throw invalid_argument(std::string(option) + " is " + std::to_string(limit) +
                               ": it must be at least 1" +
                               (limit == 0 ? "" : " and at most " + std::to_string(most)));
    }
}

void check_duration(clock::duration given, const char* option, bool may_be_zero) {
    if (given < clock::duration::zero() || (given == clock::duration::zero() && !may_be_zero)) {
        throw invalid_argument(std::string(option) + " is " + std::to_string(given.count()) +
                               " ns: it must " +
                               (may_be_zero ? "not be negative" : "be more than zero"));
    }
}

void check_consume_options(const consume_options& options) {
    check_limit(options.consumers, "consume: consumers");
    check_duration(options.item_timeout, "consume: item_timeout", false);
}

void check_batch_options(const batch_options& options) {
    check_limit(options.size, "batch: size");
    check_limit(options.concurrency, "batch: concurrency");
    check_duration(options.delay, "batch: delay", true);
    check_duration(options.item_timeout, "batch: item_timeout", false);
}

}  // namespace weir::detail
