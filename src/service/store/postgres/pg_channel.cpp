// SPDX-License-Identifier: MIT
// The server delivers a NOTIFY to all sessions that listen, once its transaction is committed. Such
// commits exclude each other, and fail while a session that does not read has let the server's
// queue fill up: so writes of tasks have none. A NOTIFY of its own costs the others nothing, and
// whatever becomes of it, nobody waits for it.
//
// Behind a pooler in transaction mode, LISTEN would be a matter of whichever session serves it, so
// nothing is sent and nothing is heard.

#include "service/store/postgres/pg_channel.hpp"

#include "service/store/postgres/pg_primary.hpp"

#include <weir/db/pg/notification.hpp>
#include <weir/race.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir::service::detail {

namespace {

using namespace std::chrono_literals;

constexpr clock::duration send_limit = 1s;
constexpr clock::duration shortest_pause = 100ms;
constexpr clock::duration longest_pause = 10s;

// Which server is the primary is found out by the connections of the store.
task<> await_failover(pg_servers& servers, std::uint64_t generation) {
    while (servers.generation() == generation) {
        co_await sleep(500ms);
    }
}

}  // namespace

class pg_channel::listening {
public:
    explicit listening(pg_channel& owner) : owner_(owner) { owner_.is_listening_ = true; }
    listening(const listening&) = delete;
    listening& operator=(const listening&) = delete;
    ~listening() {
        owner_.is_listening_ = false;
        owner_.close();
    }

private:
    pg_channel& owner_;
};

task<> pg_channel::open_sender() {
    if (sender_.has_value() && sender_->is_open()) {
        co_return;
    }
    sender_.reset();
    pg_primary found =
        co_await find_primary(*settings_.servers, settings_.options.connect_timeout, "weir news");
    pg::connection opened = std::move(found.connection);
    // A message is worth no wait for a disk or a standby.
    co_await opened.query(
        "SELECT pg_catalog.set_config('synchronous_commit', 'off', false), "
        "pg_catalog.set_config('statement_timeout', '1000', false), "
        "pg_catalog.set_config('lock_timeout', '1000', false)");
    sender_.emplace(std::move(opened));
}

task<bool> pg_channel::is_pooled() {
    co_await open_sender();
    const pg::rows pid = co_await sender_->query("SELECT pg_catalog.pg_backend_pid()");
    co_return pid.one<int>() != sender_->server_process();
}

task<> pg_channel::send_all(const std::vector<std::string>& messages) {
    co_await open_sender();
    std::string sql = "SELECT ";
    std::vector<pg::parameter> parameters;
    parameters.emplace_back(name_);
    for (const std::string& each : messages) {
        parameters.emplace_back(each);
        sql += parameters.size() > 2 ? ", " : "";
        sql += "pg_catalog.pg_notify($1, $" + std::to_string(parameters.size()) + ")";
    }
    co_await sender_->query(std::move(sql), std::move(parameters));
}

task<bool> pg_channel::send(std::vector<std::string> messages) {
    bool is_sent = false;
    try {
        co_await timeout(send_limit, send_all(messages));
        is_sent = true;
    } catch (const timed_out&) {
        sender_.reset();
    } catch (const pg::error&) {
        sender_.reset();
    }
    if (!is_listening_) {
        close();
    }
    co_return is_sent;
}

// Until the connection cannot be made, or is not wanted any more.
task<> pg_channel::hear(receiver& to, clock::duration& pause) {
    pg::connect_options server;
    server.url = settings_.servers->url(settings_.servers->primary().value_or(0));
    server.application_name = "weir listener";
    server.connect_timeout = settings_.options.connect_timeout;
    pg::listen_options options;
    options.check_every = 10s;
    options.check_timeout = 5s;
    options.reconnect_at_most = 2s;
    try {
        auto messages = pg::listen(std::move(server), name_, options);
        while (auto next = co_await messages.next()) {
            if (next->missed) {
                to.listening_begins();
            } else {
                to.heard(next->payload);
            }
            pause = shortest_pause;
        }
    } catch (const pg::error&) {
        // The server is away at the start; later, listen() connects again by itself.
    }
}

task<> pg_channel::listen(receiver& to) {
    const listening guard(*this);
    clock::duration pause = shortest_pause;
    for (;;) {
        bool is_without_sessions = false;
        bool is_reachable = false;
        try {
            is_without_sessions = co_await is_pooled();
            is_reachable = true;
        } catch (const pg::error&) {
            sender_.reset();
        }
        if (is_without_sessions) {
            sender_.reset();
            co_return;
        }
        if (is_reachable) {
            pg_servers& servers = *settings_.servers;
            co_await race(hear(to, pause), await_failover(servers, servers.generation()));
        }
        co_await sleep(pause);
        pause = std::min(2 * pause, longest_pause);
    }
}

}  // namespace weir::service::detail
