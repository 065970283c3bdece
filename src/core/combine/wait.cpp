// SPDX-License-Identifier: MIT
// A wait hangs one watch into the ring of each task. An end is counted when it happens; whether it
// is enough is a matter of three counters. The watches and the timer are in the frame of the wait:
// however that goes, they are gone.

#include <weir/error.hpp>
#include <weir/wait.hpp>

namespace weir::detail {

// ---- watch_list ---------------------------------------------------------------------------------

void watch_list::add(fiber& watched) {
    if (!watched.has(is_done)) {
        if (const join_mistake mistake = check_join(watched); mistake != join_mistake::none) {
            throw_join_mistake(mistake);
        }
    }
    watches_[size_++].assign(watched);
}

void watch_list::link_all(member_watch::owner& watcher) noexcept {
    for (std::size_t at = 0; at < size_; ++at) {
        watches_[at].link_once(watcher);
    }
    for (std::size_t at = 0; at < size_; ++at) {
        if (watches_[at].target().has(is_done)) {
            watches_[at].unlink();  // was linked to find repetitions
        }
    }
}

void watch_list::unlink_all() noexcept {
    for (std::size_t at = 0; at < size_; ++at) {
        watches_[at].unlink();
    }
}

// ---- handles_wait -------------------------------------------------------------------------------

handles_wait::handles_wait(watch_list& watched, wait_until until,
                           clock::time_point deadline) noexcept
    : timer(deadline.time_since_epoch().count()), watched_(watched), until_(until) {
    watched_.link_all(*this);
    for (std::size_t at = 0; at < watched_.size(); ++at) {
        if (watched_[at].is_linked()) {
            ++running_;
        } else if (watched_.is_first_mention(at)) {
            count(watched_[at].target());
        }
    }
}

handles_wait::~handles_wait() {
    disarm();
    watched_.unlink_all();
}

bool handles_wait::start() noexcept {
    has_started_ = true;
    const clock::time_point when{clock::duration(deadline())};
    if (when != clock::time_point::max()) {
        static_cast<loop&>(waiter().home()).arm(*this, when);
    }
    return true;
}

bool handles_wait::cancel() noexcept {
    disarm();
    return true;
}

void handles_wait::disarm() noexcept {
    if (is_armed()) {
        static_cast<loop&>(waiter().home()).disarm(*this);
    }
}

void handles_wait::member_ended(member_watch& ended) noexcept {
    --running_;
    count(ended.target());
    if (has_started_ && is_waiting() &&
        is_enough()) {  // not while it was made to yield before its start
        disarm();
        complete();
    }
}

void handles_wait::count(const fiber& ended) noexcept {
    one_ended_ = true;
    one_failed_ = one_failed_ || ended.has(is_failed);
}

bool handles_wait::is_enough() const noexcept {
    return running_ == 0 || (until_ == wait_until::first_completed && one_ended_) ||
           (until_ == wait_until::first_exception && one_failed_);
}

void check_wait(std::size_t count, wait_until until) {
    if (count == 0) {
        throw invalid_argument(
            "wait: there is nothing to wait for (the range of handles is empty)");
    }
    if (until > wait_until::first_exception) {
        throw invalid_argument("wait: " + std::to_string(static_cast<int>(until)) +
                               " is not a value of wait_until");
    }
}

}  // namespace weir::detail
