// SPDX-License-Identifier: MIT
// Each option is checked on its own, except the heartbeat, which depends on the lease.

#include "service/engine/checked_options.hpp"

#include "base/option_checks.hpp"

#include <string_view>

namespace weir::service::detail {

const service_options& checked_options(const service_options& options) {
    using weir::detail::throw_bad_option;
    const auto check_positive = [](std::string_view option, clock::duration value) {
        if (value <= clock::duration::zero()) {
            throw_bad_option("service", option, value, "more than 0");
        }
    };
    if (options.workers == 0) {
        throw_bad_option("service", "workers", 0, "1 or more");
    }
    if (options.claim_batch == 0) {
        throw_bad_option("service", "claim_batch", 0, "1 or more");
    }
    if (options.max_crashes == 0) {
        throw_bad_option("service", "max_crashes", 0, "1 or more");
    }
    if (options.max_result_bytes < 4) {
        throw_bad_option("service", "max_result_bytes", options.max_result_bytes,
                         "4 or more: the shortest result is null");
    }
    check_positive("default_timeout", options.default_timeout);
    check_positive("lease", options.lease);
    check_positive("heartbeat", options.heartbeat);
    check_positive("worker_lease", options.worker_lease);
    check_positive("poll", options.poll);
    check_positive("store_timeout", options.store_timeout);
    if (options.heartbeat > options.lease / 3) {
        throw_bad_option("service", "heartbeat", options.heartbeat, "a third of the lease at most");
    }
    if (options.drain_limit < clock::duration::zero()) {
        throw_bad_option("service", "drain_limit", options.drain_limit, "0 or more");
    }
    return options;
}

}  // namespace weir::service::detail
