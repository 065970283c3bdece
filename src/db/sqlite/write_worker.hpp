// SPDX-License-Identifier: MIT
// The writer's thread: performs calls in batches that share a commit.
#pragma once

#include "db/sqlite/batch_forecast.hpp"
#include "db/sqlite/call_queue.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/lane_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::sqlite::detail {

class write_worker {
public:
    write_worker(call_queue& queue, lane_counts& counts, connection& on, std::size_t max_batch);

    // Until the queue is closed.
    void run() noexcept;

private:
    using calls = std::vector<call_base*>;

    void perform(calls& batch) noexcept;
    void perform_batch(calls& batch) noexcept;
    // A call of a transaction that is open between calls, or of none. Gives what it adds to the
    // counts: the calls of a transaction count when it is committed.
    database_stats perform_inside(call_base& call) noexcept;
    // Stopped calls leave the batch meanwhile. False: all have failed or left.
    bool begin(calls& batch) noexcept;
    void drop_stopped(calls& batch) noexcept;
    // In the transaction that is open. False: all was rolled back, perhaps because of one of them.
    bool perform_together(calls& batch) noexcept;
    bool commit(const calls& batch);
    void perform_alone(call_base& call) noexcept;
    bool take_more(calls& batch);
    void restore_log();

    call_queue& queue_;
    lane_counts& counts_;
    connection& on_;
    const std::size_t max_batch_;
    batch_forecast forecast_;
    calls single_;                    // a batch of one
    bool is_synced_ = true;           // the commit of the batch
    bool has_unsynced_ = false;       // commits since the last synced one
    bool is_log_doubtful_ = false;    // a sync failed after commits without one
    bool is_begun_ = false;           // the transaction that is open between calls
    std::uint64_t calls_inside_ = 0;  // performed in it
};

}  // namespace weir::sqlite::detail
