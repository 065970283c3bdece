// SPDX-License-Identifier: MIT
// Once a minute, in steps of a bounded size until a step removes nothing. Other calls of the store
// have as much time as the steps take.

#include "service/engine/sweeper.hpp"

#include <algorithm>
#include <chrono>

namespace weir::service::detail {

namespace {
constexpr clock::duration interval = std::chrono::minutes(1);
constexpr clock::duration longest_pause = std::chrono::milliseconds(100);
}  // namespace

task<> sweeper::run() {
    for (;;) {
        co_await sleep(interval);
        try {
            std::size_t removed = 1;
            while (removed != 0) {
                const clock::time_point begun = weir::now();
                removed = co_await store_.call(store_->purge(kept_, time_.moment_now()));
                co_await sleep(std::min<clock::duration>(weir::now() - begun, longest_pause));
            }
        } catch (const std::exception&) {
            // The store_client has logged it; the next sweep repeats it.
        }
    }
}

}  // namespace weir::service::detail
