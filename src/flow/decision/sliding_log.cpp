// SPDX-License-Identifier: MIT
// The rare paths of the strict window: refusals, plans, refunds. They visit the log from its oldest
// entry until enough weight has left the window. A plan continues behind the log with the grants
// that it predicts.

#include <weir/flow/decision/sliding_log.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace weir::decision {

sliding_log::sliding_log(const limits& given) {
    check_window("sliding_window", given);
    limit_ = in_millionths(given.limit);
    window_ = given.window;
    const auto expected = static_cast<std::size_t>(std::ceil(std::min(given.limit, 4096.0)));
    ring_.resize(std::bit_ceil(expected));
}

void sliding_log::grow() {
    std::vector<entry> larger(ring_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) {
        larger[i] = at(i);
    }
    ring_ = std::move(larger);
    first_ = 0;
}

clock::duration sliding_log::wait(clock::time_point now, millionths cost) const noexcept {
    if (cost > limit_) {
        return refusal::never;
    }
    millionths used = used_;
    for (std::size_t i = 0; i < count_; ++i) {
        used -= at(i).weight;
        if (cost <= limit_ - used) {
            return at(i).when + window_ - now;
        }
    }
    return {};
}

void sliding_log::give_back(clock::time_point, double weight, clock::time_point taken) noexcept {
    std::size_t low = 0;
    std::size_t high = count_;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (at(middle).when < taken) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == count_ || at(low).when != taken) {
        return;  // the grant has left the window
    }
    const millionths back = std::min(in_millionths(weight), at(low).weight);
    at(low).weight -= back;
    used_ -= back;
    if (at(low).weight == 0 && low + 1 == count_) {
        --count_;
    }
}

void sliding_log::set_rate(clock::time_point, const limits& given) {
    check_window("sliding_window", given);
    limit_ = in_millionths(given.limit);
    window_ = given.window;
}

double sliding_log::available(clock::time_point now) const noexcept {
    millionths used = used_;
    for (std::size_t i = 0; i < count_ && at(i).when + window_ <= now; ++i) {
        used -= at(i).weight;
    }
    return static_cast<double>(std::max<millionths>(0, limit_ - used)) / 1e6;
}

clock::time_point sliding_log::line::grant(double weight) noexcept {
    const millionths cost = in_millionths(weight);
    if (cost > log_->limit_) {
        return clock::time_point::max();
    }
    while (cost > log_->limit_ - used_) {
        entry oldest;
        if (gone_ < log_->count_) {
            oldest = log_->at(gone_++);
        } else {
            oldest = granted_.front();
            granted_.pop_front();
        }
        used_ -= oldest.weight;
        time_ = std::max(time_, weir::detail::after(oldest.when, log_->window_));
    }
    used_ += cost;
    granted_.push_back({time_, cost});
    return time_;
}

}  // namespace weir::decision
