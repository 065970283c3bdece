// SPDX-License-Identifier: MIT
// Two PostgreSQL servers that take turns as primary and standby, each on a port of its own.
#pragma once

#include <support/peers/postgres.hpp>

#include <weir/db/pg/connection.hpp>
#include <weir/task.hpp>
#include <weir/time.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cluster_test {

using namespace std::chrono_literals;
using weir::task;
using weir_test::postgres;
using weir_test::postgres_options;

class server_pair {
public:
    server_pair() : primary_(std::make_unique<postgres>()) { make_standby(0); }

    // Both, in the order in which they were made.
    std::string url() const {
        std::string all = "postgres://weir@";
        for (int i = 0; i < 2; ++i) {
            all += (i > 0 ? ",127.0.0.1:" : "127.0.0.1:") + std::to_string(ports_[i]);
        }
        return all + "/postgres";
    }
    postgres& primary() { return *primary_; }
    postgres& standby() { return *standby_; }

    static task<> run_sql(const postgres& on, std::string sql) {
        weir::pg::connection server = co_await weir::pg::connect({.url = on.url()});
        co_await server.query(std::move(sql));
        server.close();
    }
    template <class T>
    static task<T> ask(const postgres& on, std::string sql) {
        weir::pg::connection server = co_await weir::pg::connect({.url = on.url()});
        const weir::pg::rows found = co_await server.query(std::move(sql));
        server.close();
        co_return found.one<T>();
    }
    // Commits of the primary wait for the standby from now on, or do not.
    task<> set_synchronous(bool is_synchronous) {
        co_await run_sql(*primary_, std::string("ALTER SYSTEM SET synchronous_standby_names = ") +
                                        (is_synchronous ? "'mirror'" : "''"));
        co_await run_sql(*primary_, "SELECT pg_reload_conf()");
        std::int64_t count = is_synchronous ? 0 : 1;
        while ((count > 0) != is_synchronous) {
            co_await weir::sleep(5ms);
            count = co_await ask<std::int64_t>(
                *primary_, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'");
        }
    }
    // The standby gets nothing more.
    task<> cut_replication() {
        co_await run_sql(*standby_, "ALTER SYSTEM SET primary_conninfo = ''");
        co_await run_sql(*standby_, "SELECT pg_reload_conf()");
        std::int64_t count = 1;
        while (count > 0) {
            co_await weir::sleep(5ms);
            count =
                co_await ask<std::int64_t>(*primary_, "SELECT count(*) FROM pg_stat_replication");
        }
    }
    // The primary dies, and the standby takes its place. Commits do not wait for another one.
    task<> fail_over() {
        primary_->kill();
        standby_->promote();
        former_ = std::move(primary_);
        primary_ = std::move(standby_);
        co_await run_sql(*primary_, "ALTER SYSTEM SET synchronous_standby_names = ''");
        co_await run_sql(*primary_, "SELECT pg_reload_conf()");
    }
    // The dead one.
    postgres& former() { return *former_; }
    // In place of the former primary.
    void make_standby_again() {
        const std::uint16_t port = former_->port();
        former_ = nullptr;
        make_standby(port);
    }

private:
    void make_standby(std::uint16_t port) {
        standby_ = std::make_unique<postgres>(
            postgres_options{.primary = primary_.get(), .standby_name = "mirror", .port = port});
        if (port == 0) {
            ports_[0] = primary_->port();
            ports_[1] = standby_->port();
        }
    }

    std::unique_ptr<postgres> primary_;
    std::unique_ptr<postgres> standby_;
    std::unique_ptr<postgres> former_;
    std::uint16_t ports_[2] = {};
};

}  // namespace cluster_test
