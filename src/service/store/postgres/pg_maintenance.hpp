// SPDX-License-Identifier: MIT
// Cleans up tables where autovacuum does not: its workers may be busy elsewhere for hours, and it
// never makes an index smaller.
#pragma once

#include "service/store/postgres/pg_link.hpp"

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace weir::service::detail {

struct pg_maintenance_limits {
    std::chrono::milliseconds pause = std::chrono::minutes(1);    // between two looks
    std::chrono::seconds after_vacuum = std::chrono::minutes(5);  // of a table, by anybody
    std::int64_t dead_rows = 10'000;                              // fewer are left to autovacuum
    double dead_part = 0.2;                                       // of the rows of the table
    std::int64_t index_bytes = std::int64_t{64} << 20;            // smaller ones may be bloated
    double index_growth = 4;                                      // times what the entries need
};

// One look at all tables of the schema; returns the statements that it has made. Does nothing while
// a long transaction keeps dead rows alive, and behind a pooler, where no statement may take long.
// What another node does at the same time is left to that one.
std::vector<std::string> maintain_tables(pg_link& link, const std::string& schema,
                                         const pg_maintenance_limits& limits);

// Looks once in a while, on a thread and a connection of its own, until it is destroyed.
class pg_maintainer {
public:
    explicit pg_maintainer(const pg_settings& settings, const pg_maintenance_limits& limits = {});

private:
    void run(const std::stop_token& stopped);
    void look(const std::stop_token& stopped) noexcept;

    const pg_settings& settings_;
    const pg_maintenance_limits limits_;
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace weir::service::detail
