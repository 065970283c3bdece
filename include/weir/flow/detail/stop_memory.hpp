// SPDX-License-Identifier: MIT
// Whether the caller was stopped since a point in time.
//
// A stop normally passes through a policy. But an error thrown by clean-up replaces the stop, and
// code that intercepts the stop may return normally: then a policy sees an ordinary outcome of a
// call that was stopped. It passes the outcome on without a retry or a fallback.
#pragma once

#include <weir/awaitable.hpp>

namespace weir::detail {

class stop_memory {
public:
    stop_memory() noexcept : before_(stops()) {}
    // Whether a stop of the running task, or of a scope that enclosed it, has been delivered since
    // construction. A stop that a shield postpones has not been delivered.
    bool was_stopped() const noexcept { return stops() > before_; }

private:
    static unsigned stops() noexcept {
        const fiber* on = this_thread.running;
        if (on == nullptr) {
            return 0;
        }
        unsigned found = on->has(root_requested) ? 0 : on->cancel_count;
        for (const scope* each = on->scopes; each != nullptr; each = each->outer) {
            found += each->delivered ? 1 : 0;
        }
        return found;
    }
    unsigned before_;
};

}  // namespace weir::detail
