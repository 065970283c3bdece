// SPDX-License-Identifier: MIT
// The trace that the model makes, compared with the one that it searches as early as possible.
#pragma once

#include "program.hpp"

#include <algorithm>

namespace model {

class searched_trace {
public:
    // Null: makes any trace.
    searched_trace(std::size_t size, const trace* searched) : made_(size), searched_(searched) {}

    std::size_t size() const { return made_.size(); }
    const trace& made() const { return made_; }
    bool is_searched() const { return searched_ != nullptr; }
    // It is not the one that is searched.
    bool is_wrong() const { return is_wrong_; }
    // The first turn of this fiber after that one; at the end if there is none.
    std::uint32_t turn_after(int id, std::uint32_t before) const {
        const std::vector<std::uint32_t>& turns = searched(id).turns;
        const auto found = std::upper_bound(turns.begin(), turns.end(), before);
        return found != turns.end() ? *found : UINT32_MAX;
    }
    std::uint32_t turn_of_event(std::size_t index) const {
        return index < searched(0).turns.size() ? searched(0).turns[index] : UINT32_MAX;
    }

    void begun(int id, std::int64_t now) {
        of(id).begun = now;
        check_begun(id);
    }
    void saw(int id, const ending& what) { of(id).seen = what; }
    void ended(int id, std::int64_t now, const ending& how) {
        of(id).ended = now;
        of(id).how = how;
        check(id, [](const record& made, const record& seen) {
            return made.ended == seen.ended && made.how == seen.how && made.seen == seen.seen;
        });
    }
    void fiber_ended(int id, const ending& how, int cancelling) {
        of(id).fiber = how;
        of(id).cancelling = cancelling;
        check(id, [](const record& made, const record& seen) {
            return made.fiber == seen.fiber && made.cancelling == seen.cancelling;
        });
    }
    void check_begun(int id) {
        check(id, [](const record& made, const record& seen) { return made.begun == seen.begun; });
    }

private:
    record& of(int id) { return made_[static_cast<std::size_t>(id)]; }
    const record& searched(int id) const { return (*searched_)[static_cast<std::size_t>(id)]; }
    template <class Same>
    void check(int id, const Same& same) {
        is_wrong_ = is_wrong_ || (searched_ != nullptr && !same(of(id), searched(id)));
    }

    trace made_;
    const trace* searched_;
    bool is_wrong_ = false;
};

}  // namespace model
