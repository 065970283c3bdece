// SPDX-License-Identifier: MIT
// One kind after the other; a kind whose call fails is repeated.

#include "service/engine/destination_limits.hpp"

namespace weir::service::detail {

task<> limit_destinations(store_client& store, const handler_registry& handlers) {
    const auto kinds = handlers.destination_kinds();
    decision::backoff delays(store_backoff_options);
    for (std::size_t i = 0; i < kinds.size();) {
        bool is_done = false;
        try {
            co_await store.write(store->limit_destinations(kinds[i].first, kinds[i].second));
            is_done = true;
        } catch (const store_unavailable&) {
            // The store_client has logged it.
        }
        if (is_done) {
            ++i;
        } else {
            co_await store.wait_before_retry(delays);
        }
    }
}

}  // namespace weir::service::detail
