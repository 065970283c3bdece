// SPDX-License-Identifier: MIT
// Rows arrive in the order of their ids, so that without priorities each goes to the end. A row
// that makes the window too large pushes the last one out, which moves the window's end before it.

#include "crawl/frontier/url_window.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::crawl::detail {

void url_window::push(url_row row) {
    const key at = key_of(row);
    if (has_more_ && at >= end_) {
        was_dropped_ = true;
        return;
    }
    if (rows_.empty() || key_of(rows_.back()) < at) {
        rows_.push_back(std::move(row));
    } else {
        const auto place = std::upper_bound(
            rows_.begin(), rows_.end(), at,
            [](const key& left, const url_row& right) { return left < key_of(right); });
        rows_.insert(place, std::move(row));
    }
    if (rows_.size() > 2 * capacity) {
        end_ = key_of(rows_.back());
        has_more_ = true;
        was_dropped_ = true;
        rows_.pop_back();
    }
}

url_row url_window::pop() {
    url_row first = std::move(rows_.front());
    rows_.pop_front();
    return first;
}

url_window::key url_window::begin_refill() noexcept {
    is_refilling_ = true;
    was_dropped_ = false;
    return end_;
}

void url_window::end_refill(std::vector<url_row> rows, key last, bool is_all) {
    is_refilling_ = false;
    has_more_ = !is_all || was_dropped_;
    if (last >= end_) {
        end_ = {last.priority, last.id + 1};
    }
    for (url_row& each : rows) {
        rows_.push_back(std::move(each));
    }
}

}  // namespace weir::crawl::detail
