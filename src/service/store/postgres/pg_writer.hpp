// SPDX-License-Identifier: MIT
// pg_writer: performs the writes of one store, in transactions that all nodes make one after the
// other.
#pragma once

#include "service/store/postgres/pg_link.hpp"
#include "service/store/sql_backend.hpp"

#include <cstdint>
#include <exception>
#include <string>
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

// Used by one thread.
class pg_writer {
public:
    explicit pg_writer(const pg_settings& settings);

    // Performs all of them. Each one that fails has its error, and has changed nothing.
    void perform(const std::vector<pg_write*>& batch) noexcept;

private:
    void perform_all(const std::vector<pg_write*>& batch);
    void perform_once(const std::vector<pg_write*>& batch);
    void begin(bool is_synced);
    // Whether the transaction with this number was committed, and is on the standbys that COMMIT
    // waits for if it was synced. Throws if that cannot be found out.
    bool was_committed(std::int64_t number, bool is_synced);

    const pg_settings& settings_;
    pg_link link_;
    std::string id_;           // of this store, in the table of writers
    std::int64_t number_ = 0;  // of its last transaction
};

}  // namespace weir::service::detail
