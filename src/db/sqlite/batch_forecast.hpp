// SPDX-License-Identifier: MIT
// How many calls the writer waits for before it commits.
//
// Tasks whose calls were committed often come back at once with the next one. If the writer
// committed without them, the two halves would take turns, and share no commit. So the writer
// performs the calls that it has and waits for the others, no longer than a commit takes, and not
// if such a wait brought no calls lately.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace weir::sqlite::detail {

class batch_forecast {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using duration = std::chrono::steady_clock::duration;

    explicit batch_forecast(std::size_t max_batch) noexcept : max_batch_(max_batch) {}

    // Whether calls are expected that have not come.
    bool expects_calls() const noexcept { return known_ > 1 && rest_ == 0 && is_worth_sharing(); }
    // Whether a batch of this size is expected to grow.
    bool expects_more_than(std::size_t taken) const noexcept { return known_ > taken; }

    // A batch begins with this many calls, whose commit is synced.
    void begin(std::size_t taken, time_point now) noexcept {
        constexpr std::chrono::milliseconds longest(5);
        deadline_ = committed_at_ + std::min<duration>(commit_time_, longest);
        const bool is_tried = is_worth_sharing() && (rest_ == 0 || --rest_ == 0) && now < deadline_;
        expected_ = is_tried ? std::clamp(known_, taken, max_batch_) : taken;
        known_ = 0;
    }
    // A batch of exactly this many calls.
    void begin_fixed(std::size_t calls) noexcept { expected_ = calls; }
    // The next calls belong to one transaction, or to none.
    void forget() noexcept { known_ = 0; }

    std::size_t expected() const noexcept { return expected_; }
    // When the wait for the missing calls ends.
    time_point deadline() const noexcept { return deadline_; }
    // The wait brought no calls: the next batches do not wait.
    void note_useless_wait() noexcept { rest_ = 50; }
    // A synced commit of so many calls, including the calls that waited meanwhile.
    void committed(time_point began, time_point ended, std::size_t calls) noexcept {
        committed_at_ = ended;
        commit_time_ = ended - began;
        known_ = calls;
    }

private:
    // A quick commit need not be shared.
    bool is_worth_sharing() const noexcept { return commit_time_ >= std::chrono::microseconds(40); }

    std::size_t max_batch_;
    std::size_t known_ = 0;  // calls of the last commit, and those that waited at its end
    duration commit_time_{};
    time_point committed_at_{};
    std::size_t expected_ = 0;  // calls in the batch
    time_point deadline_{};
    unsigned rest_ = 0;  // batches until waiting is tried again
};

}  // namespace weir::sqlite::detail
