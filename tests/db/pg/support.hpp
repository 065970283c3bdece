// SPDX-License-Identifier: MIT
// What the tests of connections share: a server, and how an error looks.
#pragma once

#include "support/io.hpp"
#include "support/peers/pgbouncer.hpp"
#include "support/peers/postgres.hpp"

#include <weir/db/pg/database.hpp>
#include <weir/gather.hpp>
#include <weir/group.hpp>
#include <weir/outcome.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace weir_test {

// Its user 'guarded' must give a password; it speaks TLS to clients that want it.
inline postgres& pg_server() {
    static const auto server = [] {
        need("/usr/bin/openssl", "openssl");
        const temporary_folder folder;
        // Not RSA: each test is a process, and would search for primes for a third of its time.
        running_program openssl(
            folder, {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                     "-keyout", folder / "key", "-out", folder / "certificate"});
        while (openssl.is_running()) {
            usleep(1'000);
        }
        return std::make_unique<postgres>(postgres_options{
            .settings = {"ssl=on"},
            .hba = {"host all guarded 127.0.0.1/32 scram-sha-256"},
            .files = {{"server.crt", folder.read("certificate")},
                      {"server.key", folder.read("key")}},
        });
    }();
    return *server;
}
// Whether clients reach the server through a pooler in all tests.
inline bool is_behind_pooler() {
    return std::getenv("WEIR_TEST_BEHIND_POOLER") != nullptr;
}
// Skips a test of what belongs to a session, such as temporary tables and locks: a pooler uses
// another one for each transaction.
inline void need_own_session() {
    if (is_behind_pooler()) {
        skip_test("behind a pooler, clients have no session of their own");
    }
}
inline pgbouncer& pg_pooler() {
    static pgbouncer pooler(pg_server(), is_behind_pooler() ? 30 : 3);
    return pooler;
}
inline const std::string& pg_url() {
    static const std::string url =
        is_behind_pooler() ? pg_pooler().url() : pg_server().url() + "?sslmode=disable";
    return url;
}

// The SQLSTATE with which it fails, or what it says if there is none; "" if it does not fail.
template <class Work>
weir::task<std::string> state_of(Work work) {
    std::string state;
    try {
        static_cast<void>(co_await std::move(work));
    } catch (const weir::pg::error& error) {
        state = error.sqlstate().empty() ? error.what() : error.sqlstate();
    }
    co_return state;
}
inline weir::task<std::string> state_of(weir::task<> work) {
    std::string state;
    try {
        co_await std::move(work);
    } catch (const weir::pg::error& error) {
        state = error.sqlstate().empty() ? error.what() : error.sqlstate();
    }
    co_return state;
}

// A new table in place of an old one. Behind a pooler there are no temporary tables.
template <class On>
weir::task<> make_table(On& on, std::string name, std::string columns) {
    co_await on.script("DROP TABLE IF EXISTS " + name + " CASCADE; CREATE TABLE " + name + "(" +
                       columns + ")");
}

// The rows of a query, as a task.
template <class T, class On, class... Parameters>
weir::task<T> one(On& on, std::string sql, Parameters... parameters) {
    const weir::pg::rows found = co_await on.query(std::move(sql), parameters...);
    co_return found.template one<T>();
}

}  // namespace weir_test
