// SPDX-License-Identifier: MIT
// Ends are queued as they happen and handed to takers first come, first served. A result that was
// granted to a taker which is stopped before it resumes goes back to the front. Takers in excess of
// the tasks wait until all results have been taken: one may still be returned.

#include <weir/as_completed.hpp>

namespace weir::detail {

completion_state::completion_state(std::size_t count, clock::time_point deadline)
    : timer(deadline.time_since_epoch().count()),
      home_(loop::current()),
      watched_(count),
      ended_(new std::size_t[count]) {}

completion_state::~completion_state() {
    if (is_armed()) {
        home_.disarm(*this);
    }
}

void completion_state::begin() noexcept {
    watched_.link_all(*this);
    for (std::size_t at = 0; at < watched_.size(); ++at) {
        if (!watched_.is_first_mention(at)) {
            continue;
        }
        ++total_;
        if (watched_[at].is_linked()) {
            ++running_;
        } else {
            push_back(at);
        }
    }
    const clock::time_point when{clock::duration(deadline())};
    if (running_ > 0 && when != clock::time_point::max()) {
        home_.arm(*this, when);
    }
}

void completion_state::push_back(std::size_t index) noexcept {
    ended_[(first_ended_ + ended_count_) % watched_.size()] = index;
    ++ended_count_;
}

void completion_state::member_ended(member_watch& ended) noexcept {
    push_back(watched_.index_of(ended));
    if (--running_ == 0 && is_armed()) {
        home_.disarm(*this);
    }
    serve();
}

void completion_state::fire() noexcept {
    expired_count_ = running_;
    running_ = 0;
    watched_.unlink_all();
    serve();
}

bool completion_state::grant(take_operation& to) noexcept {
    using granted = take_operation::granted;
    if (ended_count_ > 0) {
        to.granted_ = granted::item;
        to.index_ = ended_[first_ended_];
        first_ended_ = (first_ended_ + 1) % watched_.size();
        --ended_count_;
    } else if (expired_count_ > 0) {
        to.granted_ = granted::expiry;
        --expired_count_;
    } else if (taken_ == total_) {
        to.granted_ = granted::end;
    } else {
        return false;
    }
    return true;
}

void completion_state::give_back(take_operation& from) noexcept {
    using granted = take_operation::granted;
    if (from.granted_ == granted::item) {
        first_ended_ = (first_ended_ + watched_.size() - 1) % watched_.size();
        ended_[first_ended_] = from.index_;
        ++ended_count_;
    } else if (from.granted_ == granted::expiry) {
        ++expired_count_;
    }
    serve();
}

void completion_state::taken() noexcept {
    if (++taken_ == total_) {
        serve();
    }
}

void completion_state::serve() noexcept {
    while (!waiters_.empty() && grant(waiters_.front())) {
        waiters_.pop_front().complete();
    }
}

// ---- take_operation -----------------------------------------------------------------------------

take_operation::~take_operation() {
    if (is_linked()) {
        unlink();
    }
    if (granted_ != granted::nothing) {
        state_->give_back(*this);
    }
}

bool take_operation::start() noexcept {
    state_->waiters_.push_back(*this);
    return true;
}

bool take_operation::cancel() noexcept {
    unlink();
    return true;
}

std::optional<std::size_t> take_operation::take() {
    const granted got = std::exchange(granted_, granted::nothing);
    if (got == granted::end) {
        return std::nullopt;
    }
    state_->taken();
    if (got == granted::expiry) {
        throw timed_out("as_completed: a task did not end in time");
    }
    return index_;
}

}  // namespace weir::detail
