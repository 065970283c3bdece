// SPDX-License-Identifier: MIT
// After a power failure, services and their database start at the same time, so a database that
// does not answer yet is no reason to end.

#include "program/serve/open_store.hpp"

#include "program/serve/log.hpp"

#include <weir/time.hpp>

#include <algorithm>
#include <chrono>

namespace weir::program {

using service::log_level;

std::string shown_database(const std::string& database) {
    return service::shown_store(database);
}

task<service::movable_store> open_store(const serve_plan& plan) {
    service::movable_store_options options;
    options.sqlite = plan.store;
    options.postgres = plan.postgres;
    options.postgres.on_warning = [](std::string_view text) {
        write_log(log_level::warning, text);
    };
    options.log = [](std::string_view line) { write_log(log_level::info, line); };
    service::movable_store opened;
    std::chrono::seconds pause(1);
    while (opened.tasks == nullptr) {
        std::string problem;
        try {
            opened = co_await service::open_movable_store(plan.database, options);
        } catch (const service::move_undecided& error) {
            problem = error.what();
        } catch (const service::store_unavailable& error) {
            if (error.advice() == db::retry_advice::no ||
                !service::is_postgres_url(plan.database)) {
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
