// SPDX-License-Identifier: MIT
// A connection of its own that only listens. It is read only when the generator is resumed, so
// notifications that are not fetched stay with the server. An empty query now and then checks that
// the connection is alive.

#include "db/pg/session/connector.hpp"
#include "db/pg/session/direct_connection.hpp"
#include "db/pg/values/server_error.hpp"

#include <weir/db/pg/notification.hpp>
#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/flow/decision/backoff.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::pg {

namespace detail {

namespace {

constexpr std::size_t longest_name = 63;

std::string quoted(std::string_view name) {
    std::string result = "\"";
    for (const char each : name) {
        result += each;
        if (each == '"') {
            result += '"';
        }
    }
    return result + '"';
}

task<> readable(PGconn* connection) {
    co_await wait_readable(PQsocket(connection));
}

// Throws pg::error.
task<> command(direct_connection& connection, std::string sql) {
    connection.send(sql);
    const result_ptr failure = co_await connection.rest("pg: unexpected COPY");
    if (failure != nullptr) {
        std::rethrow_exception(error_of(failure.get(), sql));
    }
}

task<direct_connection> connect(const connector& server, const std::vector<std::string>& channels,
                                clock::duration limit) {
    opened_connection opened = co_await server.open();
    direct_connection connection(std::move(opened.connection), server.name(),
                                 db::retry_advice::yes);
    PQsetnonblocking(connection.get(), 1);
    std::string sql;
    for (const std::string& each : channels) {
        sql += "LISTEN " + quoted(each) + ";";
    }
    try {
        co_await timeout(limit, command(connection, std::move(sql)));
    } catch (const timed_out&) {
        throw connection_error(
            "pg: no answer from " + server.name() + " to LISTEN within the check_timeout",
            db::retry_advice::yes);
    }
    co_return std::move(connection);
}

// Waits until a notification may have come. False: the connection is lost.
task<bool> wait_for_more(direct_connection& connection, const listen_options& options) {
    bool is_readable = true;
    try {
        co_await timeout(options.check_every, readable(connection.get()));
    } catch (const timed_out&) {
        is_readable = false;
    }
    if (is_readable) {
        co_return PQconsumeInput(connection.get()) == 1;
    }
    bool is_alive = false;
    try {
        co_await timeout(options.check_timeout, command(connection, std::string()));
        is_alive = true;
    } catch (const timed_out&) {
    } catch (const error&) {
    }
    co_return is_alive;
}

}  // namespace

void check_listen(const std::vector<std::string>& channels, const listen_options& options) {
    if (channels.empty()) {
        throw invalid_argument("pg: listen needs at least one channel");
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
    check("reconnect_after", options.reconnect_after);
    check("reconnect_at_most", options.reconnect_at_most);
    check("check_every", options.check_every);
    check("check_timeout", options.check_timeout);
}

generator<notification> listen(std::shared_ptr<const connector> server,
                               std::vector<std::string> channels, listen_options options) {
    const backoff_options delays{
        .initial = options.reconnect_after,
        .maximum = std::max(options.reconnect_at_most, options.reconnect_after),
        .jitter = jitter::none()};
    decision::random_source random(0);  // without jitter it is not used
    decision::backoff delay(delays);
    for (bool is_first = true;; is_first = false) {
        if (!is_first) {
            co_await sleep(delay.next(random));
        }
        std::optional<direct_connection> connection;
        try {
            direct_connection fresh = co_await connect(*server, channels, options.check_timeout);
            connection.emplace(std::move(fresh));
        } catch (const error&) {
            if (is_first) {
                throw;
            }
            continue;
        }
        notification received;
        received.missed = true;
        co_yield moved(received);
        for (bool is_alive = true; is_alive;) {
            while (const notify_ptr next{PQnotifies(connection->get())}) {
                received.channel = next->relname;
                received.payload = next->extra;
                received.process = next->be_pid;
                received.missed = false;
                delay.restart();
                co_yield moved(received);
            }
            is_alive = co_await wait_for_more(*connection, options);
        }
    }
}

}  // namespace detail

generator<notification> listen(const connect_options& options, std::string channel,
                               listen_options listening) {
    std::vector<std::string> channels;
    channels.push_back(std::move(channel));
    return listen(options, std::move(channels), listening);
}

generator<notification> listen(const connect_options& options, std::vector<std::string> channels,
                               listen_options listening) {
    detail::check_listen(channels, listening);
    return detail::listen(std::make_shared<const detail::connector>(options), std::move(channels),
                          listening);
}

}  // namespace weir::pg
