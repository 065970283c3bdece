// SPDX-License-Identifier: MIT
// The submitting thread waits on a condition variable; the loop's thread sets the outcome when the
// task's done-callback runs. A cancel goes the same way as the work did, by post, and so comes
// after it; on the loop's own thread it is done at once.

#include <weir/submit.hpp>

namespace weir::detail {

bool submission_base::is_done() const {
    const std::lock_guard lock(mutex_);
    return is_done_;
}

void submission_base::check_may_block() const {
    if (this_thread.loop == home_ && !is_done()) {
        throw loop_error(
            "a submission is waited for on the thread of its own loop, which would wait for "
            "itself: await a task there");
    }
}

void submission_base::wait() const {
    check_may_block();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return is_done_; });
}

bool submission_base::wait_until(std::chrono::steady_clock::time_point when) const {
    check_may_block();
    std::unique_lock lock(mutex_);
    return ended_.wait_until(lock, when, [this] { return is_done_; });
}

bool submission_base::cancel(const std::shared_ptr<submission_base>& self, std::string reason) {
    if (self->is_done()) {
        return false;
    }
    if (this_thread.loop == self->home_) {
        self->cancel_here(reason);
        return true;
    }
    return post_to(self->mail_, [self, reason = std::move(reason)] { self->cancel_here(reason); });
}

void submission_base::cancel_here(const std::string& reason) {
    if (fiber_.valid()) {
        fiber_.cancel(reason);
    } else {
        pending_cancel_ = reason;  // its own post is still on the way
    }
}

void submission_base::started(any_handle fiber) noexcept {
    if (pending_cancel_) {
        fiber.cancel(*pending_cancel_);
    }
    fiber_ = std::move(fiber);
}

void submission_base::fail(std::exception_ptr error) noexcept {
    end([&] { error_ = std::move(error); });
}

void submission_base::tell_loop(const std::exception_ptr& error) noexcept {
    home_->tell({report_kind::callback_error,
                 "submit: the work could not be started: " + describe(error),
                 error,
                 {},
                 {}});
}

}  // namespace weir::detail
