// SPDX-License-Identifier: MIT
// The strict window: in every interval of the window's length, wherever it begins, at most the
// limit.
//
// It stores the time of each grant for the length of the window: 16 bytes per grant (grants of the
// same nanosecond share an entry). It is exact: a request is granted at the nanosecond at which an
// older grant leaves the window. For one thread; locked.hpp makes it thread-safe.
#pragma once

#include <weir/flow/decision/limiter_decision.hpp>
#include <weir/flow/decision/window_weight.hpp>

#include <cstddef>
#include <deque>
#include <vector>

namespace weir::decision {

class sliding_log {
public:
    using limits = window_limits;

    // Throws invalid_argument. Allocates room for the limit, up to 4096 grants, and more as needed.
    explicit sliding_log(const limits& given);

    verdict try_take(clock::time_point now, double weight = 1) noexcept {
        const millionths cost = in_millionths(weight);
        now = std::max(now, latest_);
        latest_ = now;
        while (count_ > 0 && at(0).when + window_ <= now) {
            drop_oldest();
        }
        if (cost <= limit_ - used_) [[likely]] {
            append(now, cost);
            return {true, {}};
        }
        return {false, wait(now, cost)};
    }

    void give_back(clock::time_point now, double weight, clock::time_point taken) noexcept;
    // A longer window does not bring back grants that have left the shorter one.
    void set_rate(clock::time_point now, const limits& given);

    double capacity() const noexcept { return static_cast<double>(limit_) / 1e6; }
    // The weight that would be granted now.
    double available(clock::time_point now) const noexcept;
    // The number of stored grants.
    std::size_t size() const noexcept { return count_; }

    struct entry {
        clock::time_point when;
        millionths weight;
    };
    class line {
    public:
        clock::time_point grant(double weight) noexcept;

    private:
        friend class sliding_log;
        line(const sliding_log& log, clock::time_point now) noexcept
            : log_(&log), time_(now), used_(log.used_) {}
        const sliding_log* log_;
        std::size_t gone_ = 0;  // entries that have left the window
        std::deque<entry> granted_;
        clock::time_point time_;
        millionths used_;
    };
    line plan(clock::time_point now) const noexcept { return {*this, std::max(now, latest_)}; }

private:
    entry& at(std::size_t place) noexcept { return ring_[(first_ + place) & (ring_.size() - 1)]; }
    const entry& at(std::size_t place) const noexcept {
        return ring_[(first_ + place) & (ring_.size() - 1)];
    }
    void drop_oldest() noexcept {
        used_ -= at(0).weight;
        ++first_;
        --count_;
    }
    void append(clock::time_point now, millionths cost) noexcept {
        used_ += cost;
        if (count_ > 0 && at(count_ - 1).when == now) {
            at(count_ - 1).weight += cost;
            return;
        }
        if (count_ == ring_.size()) [[unlikely]] {
            grow();
        }
        at(count_++) = {now, cost};
    }
    clock::duration wait(clock::time_point now, millionths cost) const noexcept;
    void grow();

    std::vector<entry> ring_;  // its size is a power of two
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    millionths used_ = 0;
    millionths limit_ = 0;
    clock::duration window_{};
    clock::time_point latest_ = clock::time_point::min();
};

static_assert(limiter_decision<sliding_log>);

}  // namespace weir::decision
