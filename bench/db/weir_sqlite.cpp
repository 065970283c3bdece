// SPDX-License-Identifier: MIT
//
// Suite db on Weir's SQLite: writers that each wait until their insert is durable.
#include "measuring.hpp"

#include <weir/db/sqlite/database.hpp>

namespace {

namespace sqlite = weir::sqlite;

weir::task<> insert(const bench::db_arguments& as) {
    sqlite::database database = co_await sqlite::open(as.where + "/weir.db");
    co_await database.script(
        "CREATE TABLE events(id INTEGER PRIMARY KEY, kind INTEGER, payload TEXT)");
    // So that the log has its usual size, which it is not made smaller than again.
    co_await database.script(
        "CREATE TABLE filler(x); INSERT INTO filler VALUES (zeroblob(8000000))");
    auto writer = [&](std::size_t, std::uint64_t& done) -> weir::task<> {
        for (;;) {
            const sqlite::changed one = co_await database.execute(
                "INSERT INTO events(kind, payload) VALUES (?, ?)", 7, "a small event");
            done += static_cast<std::uint64_t>(one.rows);
        }
    };
    co_await bench::measure(as, writer);
    const sqlite::database_stats stats = database.stats();
    std::fprintf(stderr, "%.1f writes a commit\n",
                 static_cast<double>(stats.writes) / static_cast<double>(stats.commits));
}

}  // namespace

int main(int argc, char** argv) {
    const bench::db_arguments as = bench::db_arguments::parse(argc, argv);
    if (as.workload != "sqlite_16") {
        return 64;
    }
    weir::loop loop({.driver = as.driver});
    loop.run(insert(as));
}
