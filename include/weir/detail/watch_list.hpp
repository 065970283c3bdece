// SPDX-License-Identifier: MIT
// The watches over the fibers that one owner waits for; each fiber is watched once.
#pragma once

#include <weir/detail/join.hpp>

#include <memory>

namespace weir::detail {

class watch_list {
public:
    explicit watch_list(std::size_t most) : watches_(new member_watch[most]) {}

    // Throws invalid_state for the running fiber itself, and for one of another loop.
    void add(fiber& watched);
    // Links them to their fibers. Of the watches over one fiber, only the first stays.
    void link_all(member_watch::owner& watcher) noexcept;
    void unlink_all() noexcept;

    std::size_t size() const noexcept { return size_; }
    member_watch& operator[](std::size_t at) noexcept { return watches_[at]; }
    std::size_t index_of(const member_watch& one) const noexcept {
        return static_cast<std::size_t>(&one - watches_.get());
    }
    bool is_first_mention(std::size_t at) const noexcept { return !watches_[at].is_repetition(); }

private:
    std::unique_ptr<member_watch[]> watches_;
    std::size_t size_ = 0;
};

}  // namespace weir::detail
