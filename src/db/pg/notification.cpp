// SPDX-License-Identifier: MIT
// A connection that only listens. libpq reads when the generator's body asks it to, so what nobody
// fetches stays with the server. An empty query now and then shows that the server is there.

#include "db/pg/session/connector.hpp"
#include "db/pg/values/server_error.hpp"
#include "db/pg/session/session.hpp"

#include <weir/db/pg/notification.hpp>
#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::pg {

namespace detail {

namespace {

constexpr std::size_t longest_name = 63;

std::string quoted(std::string_view name) {
    std::string made = "\"";
    for (const char each : name) {
        made += each;
        if (each == '"') {
            made += '"';
        }
    }
    return made + '"';
}

struct free_notification {
    void operator()(PGnotify* held) const noexcept { PQfreemem(held); }
};

task<> readable(pg_conn* line) {
    co_await wait_readable(PQsocket(line));
}

// Sends it and takes its results. Throws pg::error.
task<> command(pg_conn* line, std::string sql) {
    if (PQsendQuery(line, sql.c_str()) != 1) {
        throw connection_failure(line, "pg", db::retry_advice::yes);
    }
    result_ptr failure;
    for (;;) {
        const int unsent = PQflush(line);
        if (unsent > 0) {
            co_await wait_writable(PQsocket(line));
        } else if (unsent == 0 && PQisBusy(line) != 0) {
            co_await wait_readable(PQsocket(line));
        }
        if (unsent < 0 || (PQisBusy(line) != 0 && PQconsumeInput(line) != 1)) {
            throw connection_failure(line, "pg", db::retry_advice::yes);
        }
        if (unsent > 0 || PQisBusy(line) != 0) {
            continue;
        }
        result_ptr next(PQgetResult(line));
        if (next == nullptr) {
            break;
        }
        if (PQresultStatus(next.get()) == PGRES_FATAL_ERROR && failure == nullptr) {
            failure = std::move(next);
        }
    }
    if (failure != nullptr) {
        std::rethrow_exception(error_of(failure.get(), sql));
    }
}

task<connection_ptr> listening(const endpoint& at, const std::vector<std::string>& channels,
                               clock::duration limit) {
    connection_ptr line = co_await at.open();
    PQsetnonblocking(line.get(), 1);
    std::string sql;
    for (const std::string& each : channels) {
        sql += "LISTEN " + quoted(each) + ";";
    }
    try {
        co_await timeout(limit, command(line.get(), std::move(sql)));
    } catch (const timed_out&) {
        throw connection_error(
            "pg: no answer from " + at.where() + " to LISTEN within the check_timeout",
            db::retry_advice::yes);
    }
    co_return std::move(line);
}

// Until something may have come. False: the connection is lost.
task<bool> more(pg_conn* line, const listen_options& how) {
    bool is_there = true;
    try {
        co_await timeout(how.check_every, readable(line));
    } catch (const timed_out&) {
        is_there = false;
    }
    if (is_there) {
        co_return PQconsumeInput(line) == 1;
    }
    try {
        co_await timeout(how.check_timeout, command(line, std::string()));
        is_there = true;
    } catch (const timed_out&) {
    } catch (const error&) {
    }
    co_return is_there;
}

}  // namespace

void check_listen(const std::vector<std::string>& channels, const listen_options& how) {
    if (channels.empty()) {
        throw invalid_argument("pg: listen needs a channel at least");
    }
    for (const std::string& each : channels) {
        if (each.empty() || each.size() > longest_name || each.find('\0') != std::string::npos) {
            throw invalid_argument("pg: a channel has a name of " + std::to_string(each.size()) +
                                   " bytes; it must have 1 to 63, and no NUL");
        }
    }
    const auto check = [](const char* name, clock::duration value) {
        if (value <= clock::duration::zero()) {
            throw invalid_argument("pg: " + std::string(name) + " is " +
                                   std::to_string(value.count()) + " ns; it must be more than 0");
        }
    };
    check("reconnect_after", how.reconnect_after);
    check("reconnect_at_most", how.reconnect_at_most);
    check("check_every", how.check_every);
    check("check_timeout", how.check_timeout);
}

generator<notification> listen(std::shared_ptr<const endpoint> at,
                               std::vector<std::string> channels, listen_options how) {
    bool is_first = true;
    clock::duration delay = how.reconnect_after;
    for (;; is_first = false) {
        if (!is_first) {
            co_await sleep(delay);
            delay = std::min(2 * delay, std::max(how.reconnect_at_most, how.reconnect_after));
        }
        connection_ptr line;
        try {
            line = co_await listening(*at, channels, how.check_timeout);
        } catch (const error&) {
            if (is_first) {
                throw;
            }
            continue;
        }
        notification said;
        said.missed = true;
        co_yield moved(said);
        do {
            while (
                const std::unique_ptr<PGnotify, free_notification> next{PQnotifies(line.get())}) {
                said.channel = next->relname;
                said.payload = next->extra;
                said.process = next->be_pid;
                said.missed = false;
                delay = how.reconnect_after;
                co_yield moved(said);
            }
            const bool is_there = co_await more(line.get(), how);
            if (!is_there) {
                line.reset();
            }
        } while (line != nullptr);
    }
}

}  // namespace detail

generator<notification> listen(const connect_options& options, std::string channel,
                               listen_options how) {
    std::vector<std::string> channels;
    channels.push_back(std::move(channel));
    return listen(options, std::move(channels), how);
}

generator<notification> listen(const connect_options& options, std::vector<std::string> channels,
                               listen_options how) {
    detail::check_listen(channels, how);
    return detail::listen(std::make_shared<const detail::endpoint>(options), std::move(channels),
                          how);
}

}  // namespace weir::pg
