// SPDX-License-Identifier: MIT
// call_window: the endings of recent calls: of the last n calls, or of the last period.
//
// By count, a ring with one byte per call. By time, a ring of buckets, each for a slice of time:
// the window is the current slice and the full ones before it, so it is up to one slice shorter
// than configured. Adding is O(1), except for buckets that expire after a pause.
#pragma once

#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::decision {

class call_window {
public:
    struct totals {
        std::uint32_t calls = 0;
        std::uint32_t failures = 0;
        std::uint32_t slow = 0;
    };

    call_window() = default;  // no window: add() is not allowed
    static call_window of_calls(std::size_t calls) {
        call_window made;
        made.marks_.resize(calls);
        return made;
    }
    static call_window of_time(clock::duration time, std::size_t buckets) {
        call_window made;
        made.buckets_.resize(buckets);
        const auto count = static_cast<clock::rep>(buckets);
        made.slice_ = clock::duration((time.count() - 1) / count + 1);  // rounded up
        return made;
    }

    bool exists() const noexcept { return !marks_.empty() || !buckets_.empty(); }
    bool is_timed() const noexcept { return !buckets_.empty(); }
    const totals& seen() const noexcept { return seen_; }

    // Times must not decrease. By count, they are ignored.
    void add(bool failed, bool slow, clock::time_point now) noexcept {
        if (is_timed()) {
            pass_time(now);
            count_in(buckets_[place_], failed, slow);
        } else {
            replace(marks_[place_],
                    static_cast<std::uint8_t>(counted | (failed ? bad : 0) | (slow ? late : 0)));
            place_ = place_ + 1 == marks_.size() ? 0 : place_ + 1;
        }
        count_in(seen_, failed, slow);
    }
    // Removes slices that are too old.
    void pass_time(clock::time_point now) noexcept {
        if (is_timed() && now >= slice_end_) {
            turn(now);
        }
    }
    void forget() noexcept;

private:
    static constexpr unsigned counted = 1;
    static constexpr unsigned bad = 2;
    static constexpr unsigned late = 4;

    static void count_in(totals& to, bool failed, bool slow) noexcept {
        ++to.calls;
        to.failures += failed ? 1 : 0;
        to.slow += slow ? 1 : 0;
    }
    void replace(std::uint8_t& old, std::uint8_t mark) noexcept {
        seen_.calls -= old & counted;
        seen_.failures -= (old & bad) / bad;
        seen_.slow -= (old & late) / late;
        old = mark;
    }
    void turn(clock::time_point now) noexcept;

    totals seen_;
    std::size_t place_ = 0;            // of the next call, or of the current bucket
    std::vector<std::uint8_t> marks_;  // by count
    std::vector<totals> buckets_;      // by time
    clock::duration slice_{};
    clock::time_point slice_end_ = clock::time_point::min();  // of the current bucket
};

}  // namespace weir::decision
