// SPDX-License-Identifier: MIT
// pg_replica: reads from a standby of the database, which may lag behind it.
#pragma once

#include "service/store/postgres/pg_lane.hpp"

#include <weir/clock.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace weir::service::detail {

class pg_replica {
public:
    // The standby is the one that the options of the primary name.
    explicit pg_replica(const pg_settings& primary);

    // How far what was read is behind the primary, at most. Empty: the standby cannot be used now,
    // or lags too far, and what the work has found does not count.
    task<std::optional<std::chrono::microseconds>> read(const sql_work& work);
    // Why it cannot be used; empty: it can.
    task<std::string> find_problem();
    task<> close() { return lane_.close(); }

private:
    // What the standby says against being used.
    std::string objection(const pg_standby& found) const;

    const pg_settings& primary_;
    pg_settings settings_;
    pg_lane lane_;
    std::string problem_;             // of the last read
    clock::time_point not_before_{};  // the next attempt after one that has failed
};

}  // namespace weir::service::detail
