// SPDX-License-Identifier: MIT
// Once a second, on each node: the store looks whether the time of some task has come. Claims
// begin no expired task in between; this is for the tasks that no claim comes across, since they
// wait for a worker, another task or the end of a pause.

#include "service/engine/expirer.hpp"

#include <chrono>
#include <cstddef>

namespace weir::service::detail {

namespace {
constexpr clock::duration expiry_interval = std::chrono::seconds(1);
}  // namespace

task<> expirer::run() {
    for (;;) {
        co_await sleep(expiry_interval);
        try {
            const std::size_t ended = co_await store_.call(store_->expire(time_.moment_now()));
            if (ended > 0) {
                trigger_.claim_now();  // for callbacks, and for tasks that came after them
            }
        } catch (const std::exception&) {
            // The store_client has logged it; the next look repeats it.
        }
    }
}

}  // namespace weir::service::detail
