// SPDX-License-Identifier: MIT
// A queue of calls and the threads that perform them: the writer's, or the readers'.
#pragma once

#include "db/sqlite/call_queue.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/lane_counts.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weir::sqlite::detail {

class lane {
public:
    // Opens the connections here, so that their errors come at once; stop ends the wait for a lock.
    lane(const std::string& path, const open_options& options, access kind, std::size_t threads,
         const std::atomic<bool>& stop);
    lane(const lane&) = delete;
    lane& operator=(const lane&) = delete;
    ~lane();

    bool enter(call_base& call) noexcept { return queue_.enter(call); }
    bool withdraw(call_base& call) noexcept { return queue_.withdraw(call); }
    void check_outside() const { queue_.check_outside(); }
    void release(transaction_id transaction) noexcept { queue_.release(transaction); }

    // Later calls fail; the calls that wait are still performed (finishes), or fail as well.
    void close(bool finishes) noexcept;
    // Waits for the threads to end; several threads may call it.
    void join() noexcept;
    void add_to(database_stats& all) const;

private:
    void read(connection& on) noexcept;

    call_queue queue_;
    lane_counts counts_;
    std::vector<std::unique_ptr<connection>> connections_;
    std::mutex joining_;
    std::vector<std::thread> threads_;
};

}  // namespace weir::sqlite::detail
