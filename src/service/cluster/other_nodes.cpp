// SPDX-License-Identifier: MIT
// A process that starts again has another name, so its counters begin with it.

#include "service/cluster/other_nodes.hpp"

#include <algorithm>
#include <vector>

namespace weir::service::detail {

namespace {

std::uint64_t increase(std::uint64_t from, std::uint64_t to) noexcept {
    return to > from ? to - from : 0;
}

}  // namespace

other_nodes::verdict other_nodes::note(const news_message& message, clock::time_point now) {
    verdict result;
    auto found = nodes_.find(message.from);
    if (message.leaves) {
        if (found != nodes_.end()) {
            result.is_gap = message.number != found->second.number + 1;
            nodes_.erase(found);
            count_interest();
        }
        return result;
    }
    if (found == nodes_.end()) {
        if (nodes_.size() >= max_nodes) {
            return result;
        }
        found = nodes_.emplace(message.from, state()).first;
        found->second.counters = message.counters;
        result.is_new = true;
    } else {
        result.is_gap = message.number != found->second.number + 1;
    }
    state& known = found->second;
    known.number = message.number;
    known.node = message.node;
    known.free = message.free;
    known.heard_at = now;
    counters_.submitted += increase(known.counters.submitted, message.counters.submitted);
    counters_.started += increase(known.counters.started, message.counters.started);
    counters_.completed += increase(known.counters.completed, message.counters.completed);
    counters_.failed += increase(known.counters.failed, message.counters.failed);
    known.counters = message.counters;
    if (known.wants != message.wants) {
        known.wants = message.wants;
        count_interest();
    }
    return result;
}

std::size_t other_nodes::forget_silent(clock::time_point since) {
    const std::size_t count =
        std::erase_if(nodes_, [&](const auto& each) { return each.second.heard_at < since; });
    if (count > 0) {
        count_interest();
    }
    return count;
}

void other_nodes::clear() noexcept {
    nodes_.clear();
    wanted_ = {};
}

std::optional<clock::time_point> other_nodes::heard_at(std::string_view node) const {
    const auto found =
        std::ranges::find_if(nodes_, [&](const auto& each) { return each.second.node == node; });
    return found != nodes_.end() ? std::optional(found->second.heard_at) : std::nullopt;
}

std::string other_nodes::take_free(weir::detail::random_source& random) {
    std::vector<state*> free;
    std::vector<const std::string*> names;
    for (auto& [name, each] : nodes_) {
        if (each.free > 0) {
            free.push_back(&each);
            names.push_back(&name);
        }
    }
    if (free.empty()) {
        return {};
    }
    const std::size_t chosen = random.next_below(free.size());
    free[chosen]->free = 0;
    return *names[chosen];
}

void other_nodes::set_busy(const std::string& from) {
    if (const auto found = nodes_.find(from); found != nodes_.end()) {
        found->second.free = 0;
    }
}

void other_nodes::count_interest() {
    wanted_ = {};
    for (const auto& [name, each] : nodes_) {
        wanted_.add(each.wants);
    }
}

}  // namespace weir::service::detail
