// SPDX-License-Identifier: MIT
// A window over a store: whatever the order of pushes, pops and refills, every URL comes out once,
// and in order if no new one overtakes.

#include "crawl/frontier/url_window.hpp"

#include <weir/base/random.hpp>

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace url_window_test {

using namespace weir::crawl;
using weir::crawl::detail::url_window;

url_row row_of(url_id id, std::int32_t priority) {
    url_row row;
    row.id = id;
    row.priority = priority;
    return row;
}

// What the store would find: pending rows at or after the key, without those given out.
std::vector<url_row> stored(const std::set<std::pair<std::int32_t, url_id>>& pending,
                            const std::set<url_id>& taken, url_window::key from, std::size_t limit,
                            url_window::key& last) {
    std::vector<url_row> rows;
    for (auto at = pending.lower_bound({from.priority, from.id}); at != pending.end() && limit > 0;
         ++at, --limit) {
        last = {at->first, at->second};
        if (!taken.contains(at->second)) {
            rows.push_back(row_of(at->second, at->first));
        }
    }
    return rows;
}

void run_window(std::uint64_t seed, int priorities) {
    weir::detail::random_source random(seed);
    url_window window;
    std::set<std::pair<std::int32_t, url_id>> pending;  // of the store
    std::set<url_id> taken;
    url_id next = 1;
    for (int step = 0; step < 6000 || taken.size() + 1 < next; ++step) {
        if (step < 6000 && random.next_below(3) != 0) {
            const auto priority = static_cast<std::int32_t>(
                random.next_below(static_cast<std::uint64_t>(priorities)));
            pending.emplace(priority, next);
            window.push(row_of(next, priority));
            ++next;
        } else if (!window.empty()) {
            const url_row row = window.pop();
            EXPECT_TRUE(taken.insert(row.id).second) << row.id;
            if (random.next_below(2) == 0) {
                pending.erase({row.priority, row.id});  // settled
            }
        } else if (taken.size() + 1 < next) {
            ASSERT_TRUE(window.wants_refill()) << taken.size() << " of " << next;
        }
        EXPECT_LE(window.size(), 3 * url_window::capacity);
        if (window.wants_refill()) {
            url_window::key last{std::numeric_limits<std::int32_t>::min(), 0};
            const url_window::key from = window.begin_refill();
            std::vector<url_row> rows = stored(pending, taken, from, url_window::capacity, last);
            const bool is_all =
                pending.lower_bound({last.priority, last.id + 1}) == pending.end() || last.id == 0;
            if (step < 6000 && random.next_below(2) == 0) {
                pending.emplace(0, next);
                window.push(row_of(next, 0));  // while the store reads
                ++next;
            }
            window.end_refill(std::move(rows), last, is_all);
        }
    }
    EXPECT_EQ(taken.size() + 1, next);
}

TEST(CrawlUrlWindow, EveryUrlComesOutOnce) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        run_window(seed, 1);
        run_window(seed, 5);
    }
}

TEST(CrawlUrlWindow, WithoutPrioritiesTheOrderIsThatOfDiscovery) {
    url_window window;
    for (url_id id = 1; id <= 100; ++id) {
        window.push(row_of(id, 0));
    }
    for (url_id id = 1; id <= 100; ++id) {
        EXPECT_EQ(window.pop().id, id);
    }
}

TEST(CrawlUrlWindow, AfterARestartEverythingIsInTheStore) {
    url_window window;
    window.assume_stored();
    EXPECT_TRUE(window.wants_refill());
    window.push(row_of(9, 0));
    EXPECT_TRUE(window.empty());
    window.begin_refill();
    EXPECT_FALSE(window.wants_refill());
    std::vector<url_row> rows;
    rows.push_back(row_of(9, 0));
    window.end_refill(std::move(rows), {0, 9}, true);
    EXPECT_EQ(window.size(), 1u);
    EXPECT_FALSE(window.has_more());
}

}  // namespace url_window_test
