// SPDX-License-Identifier: MIT
// What a lane has done, counted by its threads and read by others.
#pragma once

#include <weir/db/sqlite/database.hpp>

#include <mutex>
#include <span>

namespace weir::sqlite::detail {

class lane_counts {
public:
    // A call has ended; done counts unless it has failed.
    void add(const call_base& ended, const database_stats& done) noexcept {
        const std::lock_guard lock(guard_);
        add_locked(ended, done);
    }
    void add(std::span<call_base* const> ended, const database_stats& done) noexcept {
        const std::lock_guard lock(guard_);
        for (const call_base* const each : ended) {
            add_locked(*each, done);
        }
    }
    void add_commit() noexcept {
        const std::lock_guard lock(guard_);
        ++counts_.commits;
    }
    void add_to(database_stats& all) const {
        const std::lock_guard lock(guard_);
        all.writes += counts_.writes;
        all.commits += counts_.commits;
        all.reads += counts_.reads;
        all.failed += counts_.failed;
    }

private:
    void add_locked(const call_base& ended, const database_stats& done) noexcept {
        if (ended.error() != nullptr) {
            ++counts_.failed;
            return;
        }
        counts_.writes += done.writes;
        counts_.commits += done.commits;
        counts_.reads += done.reads;
    }

    mutable std::mutex guard_;
    database_stats counts_;
};

}  // namespace weir::sqlite::detail
