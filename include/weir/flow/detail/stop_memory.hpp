// SPDX-License-Identifier: MIT
// Whether the caller was stopped meanwhile.
//
// A stop normally passes by itself. But clean-up that throws replaces it with its error, and code
// that catches it may answer with another: then a policy gets an ordinary outcome of a call that
// nobody wants any more. It is passed on, and nothing is tried again or put in its place.
#pragma once

#include <weir/awaitable.hpp>

namespace weir::detail {

class stop_memory {
public:
    stop_memory() noexcept : before_(stops()) {}
    // Has a stop of the running task, or of a scope that it was in already, been delivered since?
    // One that a shield holds off has not.
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
