// SPDX-License-Identifier: MIT
// Once a minute, in steps of a bounded size until a step removes nothing.

#include "service/engine/sweeper.hpp"

namespace weir::service::detail {

namespace {
constexpr clock::duration interval = std::chrono::minutes(1);
}  // namespace

task<> sweeper::run() {
    for (;;) {
        co_await sleep(interval);
        try {
            std::size_t removed = 1;
            while (removed != 0) {
                removed = co_await store_.call(store_->purge(kept_, time_.now()));
            }
        } catch (const std::exception&) {
            // The store_client has logged it; the next sweep repeats it.
        }
    }
}

}  // namespace weir::service::detail
