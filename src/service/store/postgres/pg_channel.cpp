// SPDX-License-Identifier: MIT
// The server delivers a NOTIFY to all sessions that listen, once its transaction is committed. Such
// commits exclude each other, and fail while a session that does not read has let the server's
// queue fill up: so writes of tasks have none. A NOTIFY of its own costs the others nothing, and
// whatever becomes of it, nobody waits for it.
//
// Behind a pooler in transaction mode, LISTEN would be a matter of whichever session serves it, so
// nothing is sent and nothing is heard.

#include "service/store/postgres/pg_channel.hpp"

#include <weir/db/pg/notification.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <chrono>
#include <utility>

namespace weir::service::detail {

namespace {

using namespace std::chrono_literals;

constexpr clock::duration send_limit = 1s;

pg::connect_options channel_options(const pg_settings& settings, std::string_view name) {
    pg::connect_options options;
    options.url = settings.url;
    options.application_name = name;
    options.connect_timeout = settings.options.connect_timeout;
    return options;
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
    const pg::connect_options options = channel_options(settings_, "weir news");
    pg::connection opened = co_await pg::connect(options);
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

task<> pg_channel::listen(receiver& to) {
    const listening guard(*this);
    constexpr clock::duration longest_pause = 10s;
    clock::duration pause = 100ms;
    for (;;) {
        try {
            const bool is_without_sessions = co_await is_pooled();
            if (is_without_sessions) {
                sender_.reset();
                co_return;
            }
            pg::listen_options options;
            options.check_every = 10s;
            options.check_timeout = 5s;
            options.reconnect_at_most = 2s;
            auto messages = pg::listen(channel_options(settings_, "weir listener"), name_, options);
            while (auto next = co_await messages.next()) {
                if (next->missed) {
                    to.listening_begins();
                } else {
                    to.heard(next->payload);
                }
                pause = 100ms;
            }
        } catch (const pg::error&) {
            // The server is away at the start; later, listen() connects again by itself.
        }
        co_await sleep(pause);
        pause = std::min(2 * pause, longest_pause);
    }
}

}  // namespace weir::service::detail
