// SPDX-License-Identifier: MIT
// Each read first asks how far the standby is. Its last transaction is at most some seconds old,
// since nodes send heartbeats: the time since then is the lag, or a little more. A standby that
// cannot be used is left alone for a while, so that a dead one does not delay every read.

#include "service/store/postgres/pg_replica.hpp"

#include <weir/loop.hpp>

#include <algorithm>
#include <utility>

namespace weir::service::detail {

namespace {

constexpr clock::duration pause_after_failure = std::chrono::seconds(5);

// A standby that hangs delays a read by little.
postgres_store_options for_standby(postgres_store_options options) {
    options.statement_timeout =
        std::min(options.statement_timeout, std::chrono::milliseconds(2000));
    options.connect_timeout =
        std::min<clock::duration>(options.connect_timeout, std::chrono::seconds(1));
    return options;
}

}  // namespace

pg_replica::pg_replica(const pg_settings& primary)
    : primary_(primary),
      settings_(primary.options.read_replica, for_standby(primary.options)),
      lane_(settings_, "replica") {
    settings_.uses_standby = true;
}

std::string pg_replica::objection(const pg_standby& found) const {
    const std::int64_t system = primary_.servers->newest().system;
    if (system != 0 && found.system != 0 && found.system != system) {
        return "it is a standby of another database cluster";
    }
    if (!found.lag.has_value()) {
        return "it is a primary, or has replayed nothing yet";
    }
    return *found.lag <= primary_.options.most_lag ? "" : "it lags too far behind";
}

task<std::optional<std::chrono::microseconds>> pg_replica::read(const sql_work& work) {
    std::optional<std::chrono::microseconds> lag;
    if (loop::current().now() < not_before_) {
        co_return lag;
    }
    const sql_work checked = [&](sql_session& session) {
        const pg_standby found = static_cast<pg_link&>(session).ask_standby();
        problem_ = objection(found);
        lag.reset();
        if (problem_.empty()) {
            work(session);
            lag = found.lag;
        }
    };
    try {
        co_await lane_.read(checked);
    } catch (const store_unavailable& error) {
        problem_ = error.what();
        lag.reset();
        not_before_ = loop::current().now() + pause_after_failure;
    }
    co_return lag;
}

task<std::string> pg_replica::find_problem() {
    const sql_work nothing = [](sql_session&) {};
    static_cast<void>(co_await read(nothing));
    co_return problem_.empty() ? std::string()
                               : "the read replica cannot be used now, and the primary serves all "
                                 "reads: " +
                                     problem_;
}

}  // namespace weir::service::detail
