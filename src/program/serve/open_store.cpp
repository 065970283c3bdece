// SPDX-License-Identifier: MIT
// After a power failure, services and their database start at the same time, so a database that
// does not answer yet is no reason to end.

#include "program/serve/open_store.hpp"

#include "program/serve/log.hpp"

#include <weir/service/postgres_store.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <chrono>

namespace weir::program {

using service::log_level;

std::string shown_database(const std::string& database) {
    if (!service::is_postgres_url(database)) {
        return database;
    }
    std::string shown = database.substr(0, database.find('?'));  // parameters may have a password
    const std::size_t begin = shown.find("://") + 3;
    const std::size_t at = shown.find('@', begin);
    const std::size_t colon = shown.find(':', begin);
    if (at != std::string::npos && colon < at) {
        shown.replace(colon + 1, at - colon - 1, "***");
    }
    return shown;
}

task<std::unique_ptr<service::store>> open_store(const serve_plan& plan) {
    std::unique_ptr<service::store> opened;
    if (!service::is_postgres_url(plan.database)) {
        opened = co_await service::open_sqlite_store(plan.database, plan.store);
        co_return opened;
    }
    std::chrono::seconds pause(1);
    while (opened == nullptr) {
        std::string problem;
        try {
            opened = co_await service::open_postgres_store(plan.database, plan.postgres);
        } catch (const service::store_unavailable& error) {
            if (error.advice() == db::retry_advice::no) {
                throw;
            }
            problem = error.what();
        }
        if (!problem.empty()) {
            write_log(log_level::warning, "the database " + shown_database(plan.database) +
                                              " cannot be used yet, next try in " +
                                              std::to_string(pause.count()) + " s: " + problem);
            co_await weir::sleep(pause);
            pause = std::min<std::chrono::seconds>(2 * pause, std::chrono::seconds(15));
        }
    }
    co_return opened;
}

}  // namespace weir::program
