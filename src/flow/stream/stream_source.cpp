// SPDX-License-Identifier: MIT
// The arguments of the functions over streams, checked.

#include "base/option_checks.hpp"

#include <weir/flow/batch.hpp>
#include <weir/flow/consume.hpp>
#include <weir/flow/streams.hpp>

#include <limits>

namespace weir::detail {

void check_limit(std::size_t limit, std::string_view of, std::string_view option) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (limit == 0 || limit > most) {
        throw_bad_option(of, option, static_cast<double>(limit),
                         limit == 0 ? "at least 1" : "a number that can be counted to");
    }
}

void check_duration(clock::duration given, std::string_view of, std::string_view option,
                    bool may_be_zero) {
    if (given < clock::duration::zero() || (given == clock::duration::zero() && !may_be_zero)) {
        throw_bad_option(of, option, given, may_be_zero ? "zero or more" : "more than zero");
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
