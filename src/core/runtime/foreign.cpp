// SPDX-License-Identifier: MIT
// A foreign awaitable is awaited by a coroutine of our own that is independent of fibers. When that
// coroutine has ended, it notifies the fiber: at once within start(), directly on the loop's
// thread, through the mailbox from any other thread.

#include <weir/foreign.hpp>

namespace weir::detail {

bool foreign_base::start() noexcept {
    home_ = this_thread.loop;
    auto& at = static_cast<loop&>(*home_);
    try {
        mail_ = at.mail();
        bridge_ = make_bridge();
    } catch (...) {
        error_ = std::current_exception();
        return false;
    }
    at.expect_post();
    is_starting_ = true;
    bridge_.start(*this);  // may complete before it returns, here or on another thread
    is_starting_ = false;
    if (is_done_) {
        at.expected_post_came();
        return false;
    }
    return true;
}

void foreign_base::completed() noexcept {
    if (this_thread.loop == home_) {
        is_done_ = true;
        if (!is_starting_) {
            static_cast<loop&>(*home_).expected_post_came();
            complete();
        }
        return;
    }
    // No member may be touched once the loop has the message: this object may be destroyed.
    post_to(mail_, [this] {
        static_cast<loop&>(*home_).expected_post_came();
        complete();
    });
}

}  // namespace weir::detail
