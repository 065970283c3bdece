// SPDX-License-Identifier: MIT
// The resolver's cache: a bounded number of names, each for a limited time; the least recently used
// is dropped first. The current time is passed in.
#pragma once

#include <weir/clock.hpp>
#include <weir/io/address.hpp>

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::dns::detail {

// The result of a lookup: addresses, or the reason of its failure.
struct answer {
    std::vector<io::address> addresses{};
    std::string failure{};
};

class cache {
public:
    explicit cache(std::size_t capacity) : capacity_(capacity) {}

    // Null if there is no valid answer. The pointer is valid until the next call.
    const answer* find(std::string_view name, clock::time_point now);
    // Replaces the old answer; with a `good_for` of 0 the name is removed.
    void put(std::string name, answer result, clock::time_point now, clock::duration good_for);
    void clear() noexcept;
    std::size_t size() const noexcept { return entries_.size(); }

private:
    struct entry {
        std::string name;
        answer result;
        clock::time_point expires;
    };
    using order = std::list<entry>;

    void erase(order::iterator gone);

    std::size_t capacity_;
    order entries_;  // the most recently used first
    std::unordered_map<std::string_view, order::iterator> index_;
};

}  // namespace weir::dns::detail
