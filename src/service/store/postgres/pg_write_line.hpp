// SPDX-License-Identifier: MIT
// pg_write_line: the writes of a store that wait for its writer.
#pragma once

#include "service/store/sql_backend.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <vector>

namespace weir::service::detail {

// Lives in the frame that awaits it.
struct pg_write {
    const sql_work* work = nullptr;
    sql_joint_work* joint = nullptr;  // in place of work
    bool is_synced = true;
    bool is_done = false;
    std::exception_ptr error;
};

class pg_write_line {
public:
    void add(pg_write& write) {
        const std::lock_guard lock(guard_);
        waiting_.push_back(&write);
    }
    // The frame of the write goes: it leaves the line, or this waits for the writer, which has it.
    void leave(pg_write& write) {
        std::unique_lock lock(guard_);
        if (std::erase(waiting_, &write) == 0) {
            has_performed_.wait(lock, [&write] { return write.is_done; });
        }
    }

    // For the writer, on its thread: adds those that wait to the batch, which gets no longer than
    // `most`.
    void take(std::vector<pg_write*>& batch, std::size_t most) {
        const std::lock_guard lock(guard_);
        const auto end =
            waiting_.begin() + static_cast<std::ptrdiff_t>(
                                   std::min(most - std::min(most, batch.size()), waiting_.size()));
        batch.insert(batch.end(), waiting_.begin(), end);
        waiting_.erase(waiting_.begin(), end);
    }
    void finish(const std::vector<pg_write*>& batch) {
        const std::lock_guard lock(guard_);
        for (pg_write* const each : batch) {
            each->is_done = true;
        }
        has_performed_.notify_all();
    }

private:
    std::mutex guard_;
    std::condition_variable has_performed_;
    std::vector<pg_write*> waiting_;
};

}  // namespace weir::service::detail
