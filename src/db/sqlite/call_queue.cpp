// SPDX-License-Identifier: MIT
// What is performed next. The writer takes all calls that can share a commit. Who was answered
// often comes back at once with the next; if the writer committed without them, the two halves
// would take turns, and share nothing. So it performs what is there and waits for the others, for
// no longer than a commit takes, and not where that was in vain.

#include "db/sqlite/lane.hpp"

#include <algorithm>
#include <chrono>

namespace weir::sqlite::detail {

namespace {

constexpr std::chrono::microseconds quick(40);  // a commit that need not be shared

// To sleep and be woken takes as long as those take who are expected.
template <class Condition>
void spin(Condition is_met) noexcept {
    constexpr std::chrono::microseconds limit(50);
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!is_met() && std::chrono::steady_clock::now() < end) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}

}  // namespace

void lane::expect(std::size_t taken) noexcept {
    constexpr std::chrono::milliseconds longest(5);
    gathers_until_ = committed_at_ + std::min<clock::duration>(commit_time_, longest);
    const bool is_tried = commit_time_ >= quick && (rest_ == 0 || --rest_ == 0) &&
                          std::chrono::steady_clock::now() < gathers_until_;
    expected_ = is_tried ? std::clamp(known_, taken, max_batch_) : taken;
    known_ = 0;
}

bool lane::join(std::vector<call_base*>& batch) {
    if (batch.size() >= expected_) {
        return false;
    }
    const std::size_t missing = expected_ - batch.size();
    if (waiting_.size == 0) {
        spin([&] { return waiting_.size > 0; });
    }
    std::unique_lock lock(guard_);
    if (waiting_.size == 0) {
        enough_ = missing;
        wakes_.wait_until(lock, gathers_until_,
                          [&] { return waiting_.size >= missing || is_closed_; });
        enough_ = 1;
    }
    const std::size_t before = batch.size();
    take_alike(batch);
    if (batch.size() == before) {
        constexpr unsigned batches = 50;
        rest_ = batches;  // in vain
    }
    return batch.size() > before;
}

// Those at the head of the line that a commit can be shared with.
void lane::take_alike(std::vector<call_base*>& batch) {
    while (batch.size() < max_batch_ && waiting_.first != nullptr &&
           waiting_.first->owner_ == owner()) {
        batch.push_back(waiting_.pop());
    }
}

bool lane::take(std::vector<call_base*>& batch) {
    if (known_ > 1 && rest_ == 0 && commit_time_ >= quick) {
        spin([&] { return waiting_.size > 0; });
    }
    std::unique_lock lock(guard_);
    for (;;) {
        if (ends_now_) {
            return false;
        }
        if (holder_ != owner()) {  // only a writer has one
            if (call_base* const next = of_holder_.pop()) {
                batch.push_back(next);
                return true;
            }
            if (holder_is_gone_) {
                return true;
            }
        } else if (call_base* const next = waiting_.pop()) {
            batch.push_back(next);
            if (next->owner_ != owner()) {
                known_ = 0;
                if (next->owner_ != owner::nobody()) {
                    holder_ = next->owner_;
                }
                return true;
            }
            if (kind_ == access::write) {
                take_alike(batch);
                // Where others are expected, one commit with a sync costs less than two, one of
                // them without.
                syncs_ =
                    known_ > batch.size() || std::ranges::any_of(batch, &call_base::is_synced_);
                if (syncs_) {
                    expect(batch.size());
                } else {
                    expected_ = batch.size();
                }
            }
            return true;
        } else if (is_closed_) {
            return false;
        }
        wakes_.wait(lock);
    }
}

}  // namespace weir::sqlite::detail
