// SPDX-License-Identifier: MIT
// Tells the claimer when to ask the store for tasks. Components that may have made a task claimable
// (a submit, a settled run, a rescue, a schedule) or have freed a worker call it; only the claimer
// waits on it.
#pragma once

#include "service/engine/wall_clock.hpp"

#include <algorithm>

namespace weir::service::detail {

class claim_trigger {
public:
    explicit claim_trigger(const wall_clock& time) noexcept : time_(time) {}
    claim_trigger(const claim_trigger&) = delete;
    claim_trigger& operator=(const claim_trigger&) = delete;

    // A task may be claimable now.
    void claim_now() {
        is_wanted_ = true;
        wake_.set();
    }
    // A task will be claimable at `when`.
    void claim_at(timestamp when) {
        if (when <= time_.now()) {
            claim_now();
            return;
        }
        const clock::time_point at = time_.loop_time(when);
        requested_ = std::min(requested_, at);
        if (at < next_) {
            next_ = at;
            wake_.set();
        }
    }
    void worker_freed() {
        if (is_wanted_) {
            wake_.set();
        }
    }

    // For the claimer alone.
    bool is_wanted() const noexcept { return is_wanted_; }
    void wake() { wake_.set(); }
    // A claim begins: what comes from now on may not be part of its answer.
    void claim_begins() noexcept {
        is_wanted_ = false;
        requested_ = clock::time_point::max();
    }
    // The latest time of the next claim, after one that succeeded.
    void claim_succeeded(clock::time_point next) noexcept { next_ = std::min(next, requested_); }
    // Returns when a claim may be due: at `limit` if one is wanted already.
    task<> wait(clock::time_point limit) {
        wake_.clear();
        co_await wait_until(wake_, is_wanted_ ? limit : next_);
        is_wanted_ = is_wanted_ || weir::now() >= next_;
    }

private:
    const wall_clock& time_;
    event wake_;
    bool is_wanted_ = true;
    clock::time_point next_{};
    clock::time_point requested_ = clock::time_point::max();  // since the last claim began
};

}  // namespace weir::service::detail
