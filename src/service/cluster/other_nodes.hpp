// SPDX-License-Identifier: MIT
// What the other processes on the store have told of themselves.
#pragma once

#include "service/cluster/news_message.hpp"

#include <weir/base/random.hpp>
#include <weir/clock.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir::service::detail {

class other_nodes {
public:
    struct verdict {
        bool is_new = false;  // not heard of before
        bool is_gap = false;  // messages of it were lost before this one
    };
    verdict note(const news_message& message, clock::time_point now);
    // Forgets those that were not heard since then. Returns their number.
    std::size_t forget_silent(clock::time_point since);
    void clear() noexcept;

    bool empty() const noexcept { return nodes_.empty(); }
    std::size_t size() const noexcept { return nodes_.size(); }
    // Of all of them.
    const news_interest& wanted() const noexcept { return wanted_; }
    // What others have done since this process hears of them: never decreases.
    const news_counters& counters() const noexcept { return counters_; }
    // The time of the last message from the node with this lease.
    std::optional<clock::time_point> heard_at(std::string_view node) const;

    // One that has free workers, at random; it counts as busy until it tells more. Empty: none.
    std::string take_free(weir::detail::random_source& random);
    void set_busy(const std::string& from);

    static constexpr std::size_t max_nodes = 1000;

private:
    struct state {
        std::uint64_t number = 0;
        std::string node;
        std::size_t free = 0;
        news_interest wants;
        news_counters counters;
        clock::time_point heard_at{};
    };
    void count_interest();

    std::map<std::string, state, std::less<>> nodes_;
    news_interest wanted_;
    news_counters counters_;
};

}  // namespace weir::service::detail
