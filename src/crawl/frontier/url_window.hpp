// SPDX-License-Identifier: MIT
// The next pending URLs of one host, in the order (priority, id). The window holds at most twice
// its capacity; URLs behind its end are only in the store, from where the frontier refills it.
#pragma once

#include <weir/crawl/store.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

namespace weir::crawl::detail {

class url_window {
public:
    static constexpr std::size_t capacity = 256;

    struct key {
        std::int32_t priority = 0;
        url_id id = 0;
        friend auto operator<=>(const key&, const key&) = default;
    };
    static key key_of(const url_row& row) noexcept { return {row.priority, row.id}; }

    // A URL whose row is durable. It is dropped if it belongs behind the end of the window.
    void push(url_row row);
    bool empty() const noexcept { return rows_.empty(); }
    std::size_t size() const noexcept { return rows_.size(); }
    const url_row& front() const noexcept { return rows_.front(); }
    url_row pop();

    // There are URLs in the store that are not in the window, and it runs low.
    bool wants_refill() const noexcept {
        return has_more_ && !is_refilling_ && rows_.size() < capacity / 4;
    }
    // All pending URLs are in the store alone: the state after a restart.
    void assume_stored() noexcept {
        has_more_ = true;
        end_ = {std::numeric_limits<std::int32_t>::min(), 0};
    }
    bool is_refilling() const noexcept { return is_refilling_; }
    // Begins a refill; the result: where the store has to read from.
    key begin_refill() noexcept;
    // What the store found from there up to the key `last`. `is_all`: there was nothing behind it.
    void end_refill(std::vector<url_row> rows, key last, bool is_all);
    key end() const noexcept { return end_; }
    bool has_more() const noexcept { return has_more_; }

private:
    std::deque<url_row> rows_;
    key end_;  // rows at or after it are only in the store, if has_more_
    bool has_more_ = false;
    bool is_refilling_ = false;
    bool was_dropped_ = false;  // a row, since the refill began
};

}  // namespace weir::crawl::detail
