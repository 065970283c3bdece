// SPDX-License-Identifier: MIT
// Checks the options of the functions over streams. The messages are those of option_checks.hpp:
// owner, option, value, and what is expected.

#include "base/option_checks.hpp"

#include <weir/flow/batch.hpp>
#include <weir/flow/consume.hpp>
#include <weir/flow/streams.hpp>

#include <limits>

namespace weir::detail {

void check_limit(std::size_t limit, std::string_view owner, std::string_view option) {
    constexpr auto max = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (limit == 0 || limit > max) {
        throw_bad_option(owner, option, static_cast<double>(limit),
                         limit == 0 ? "at least 1" : "at most PTRDIFF_MAX");
    }
}

void check_duration(clock::duration value, std::string_view owner, std::string_view option,
                    bool zero_is_valid) {
    if (value < clock::duration::zero() || (value == clock::duration::zero() && !zero_is_valid)) {
        throw_bad_option(owner, option, value, zero_is_valid ? "zero or more" : "more than zero");
    }
}

void check_consume_options(const consume_options& options) {
    check_limit(options.consumers, "consume", "consumers");
    check_duration(options.item_timeout, "consume", "item_timeout", false);
}

void check_batch_options(const batch_options& options) {
    check_limit(options.size, "batch", "size");
    check_limit(options.concurrency, "batch", "concurrency");
    check_duration(options.delay, "batch", "delay", true);
    check_duration(options.item_timeout, "batch", "item_timeout", false);
}

}  // namespace weir::detail
