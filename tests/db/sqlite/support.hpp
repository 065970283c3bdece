// SPDX-License-Identifier: MIT
// Databases in folders that go away with the test.
#pragma once

#include <support/io.hpp>
#include <support/peers/program.hpp>

#include <weir/cancel.hpp>
#include <weir/db/sqlite/database.hpp>
#include <weir/group.hpp>
#include <weir/scope.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/time.hpp>

namespace sqlite_test {

namespace sqlite = weir::sqlite;

struct place {
    weir_test::temporary_folder folder;
    std::string path() const { return (folder / "test.db").string(); }
};

// One with a table for numbered texts, each number once.
inline weir::task<sqlite::database> open_with_table(const place& at,
                                                    sqlite::open_options options = {}) {
    sqlite::database opened = co_await sqlite::open(at.path(), options);
    co_await opened.script(
        "CREATE TABLE IF NOT EXISTS notes(number INTEGER PRIMARY KEY, text TEXT)");
    co_return opened;
}

inline weir::task<std::int64_t> count_notes(sqlite::database& in) {
    const sqlite::rows found = co_await in.query("SELECT count(*) FROM notes");
    co_return found.one<std::int64_t>();
}

}  // namespace sqlite_test
