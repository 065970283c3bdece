// SPDX-License-Identifier: MIT
// What the tests of connections share: a server, and how an error looks.
#pragma once

#include "support/io.hpp"
#include "support/peers/postgres.hpp"

#include <weir/db/pg/database.hpp>
#include <weir/gather.hpp>
#include <weir/group.hpp>
#include <weir/outcome.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace weir_test {

// Its user 'guarded' must give a password; it speaks TLS to clients that want it.
inline postgres& pg_server() {
    static const auto server = [] {
        need("/usr/bin/openssl", "openssl");
        const temporary_folder folder;
        running_program openssl(folder, {"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                                         "-days", "2", "-subj", "/CN=localhost", "-keyout",
                                         folder / "key", "-out", folder / "certificate"});
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
inline const std::string& pg_url() {
    static const std::string url = pg_server().url() + "?sslmode=disable";
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

// The rows of a query, as a task.
template <class T, class On, class... Parameters>
weir::task<T> one(On& on, std::string sql, Parameters... parameters) {
    const weir::pg::rows found = co_await on.query(std::move(sql), parameters...);
    co_return found.template one<T>();
}

}  // namespace weir_test
