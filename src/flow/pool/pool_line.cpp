// SPDX-License-Identifier: MIT
// A wait_list that counts. A request that was granted an object stays in it until its fiber runs,
// so that an object is never lost if the fiber is stopped first.

#include <weir/flow/detail/pool_line.hpp>

namespace weir::detail {

bool pool_line::enter(pool_request& last, clock::time_point now,
                      clock::time_point deadline) noexcept {
    last.entered_ = now;
    last.deadline_ = deadline;
    if (!list_.enter(last)) {
        return false;
    }
    ++waiting_;
    return true;
}

void pool_line::grant_first(pool_entry& entry) noexcept {
    auto& granted = static_cast<pool_request&>(list_.grant_first());
    --waiting_;
    granted.entry_ = &entry;
}

void pool_line::refuse_first(const refusal& reason, std::exception_ptr error) noexcept {
    pool_request& refused = first();
    --waiting_;
    refused.refusal_ = reason;
    refused.error_ = std::move(error);
    list_.release_first(wait_state::refused);
}

std::size_t pool_line::refuse_all(const refusal& reason) noexcept {
    const std::size_t count = waiting_;
    while (waiting_ > 0) {
        refuse_first(reason);
    }
    return count;
}

void pool_line::leave(pool_request& waiting) noexcept {
    list_.remove(waiting);
    waiting.state_ = wait_state::idle;
    --waiting_;
}

}  // namespace weir::detail
