// SPDX-License-Identifier: MIT
// pg_writer: performs the writes of one store, in transactions that all nodes make one after the
// other.
#pragma once

#include "service/store/postgres/pg_link.hpp"
#include "service/store/postgres/pg_write_line.hpp"

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace weir::service::detail {

// Used by one thread.
class pg_writer {
public:
    pg_writer(const pg_settings& settings, pg_write_line& line);

    // Performs the writes that wait in the line, at least those that wait now. Each one that fails
    // has its error, and has changed nothing.
    void perform_waiting() noexcept;

private:
    using batch = std::vector<pg_write*>;

    std::exception_ptr told_error() const noexcept;
    void perform(batch& taken) noexcept;
    void perform_alone(pg_write& one) noexcept;
    void perform_all(batch& taken, bool may_join);
    void perform_once(batch& taken, bool may_join);
    void begin();
    // Whether the transaction with this number was committed, and is on the standbys that COMMIT
    // waits for if it was synced. Throws if that cannot be found out.
    bool was_committed(std::int64_t number, bool is_synced);

    const pg_settings& settings_;
    pg_write_line& line_;
    pg_link link_;
    std::string id_;           // of this store, in the table of writers
    std::int64_t number_ = 0;  // of its last transaction
};

}  // namespace weir::service::detail
