// SPDX-License-Identifier: MIT
//
// SQLite as it comes, on one thread: a commit for each insert, on disk before the next begins.
//
//   bench_db_floor_sqlite WORKLOAD FOLDER WRITERS WARM_UP_SECONDS SECONDS
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
    if (argc != 6 || std::string(argv[1]) != "sqlite_16") {
        return 64;
    }
    sqlite3* on = nullptr;
    const auto check = [&](bool is_good) {
        if (!is_good) {
            std::fprintf(stderr, "%s\n", sqlite3_errmsg(on));
            std::exit(1);
        }
    };
    check(sqlite3_open((std::string(argv[2]) + "/floor.db").c_str(), &on) == SQLITE_OK);
    check(
        sqlite3_exec(on,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE "
                     "events(id INTEGER PRIMARY KEY, kind INTEGER, payload TEXT);"
                     // So that the log has its usual size, which it is not made smaller than again.
                     "CREATE TABLE filler(x); INSERT INTO filler VALUES (zeroblob(8000000))",
                     nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_stmt* insert = nullptr;
    check(sqlite3_prepare_v2(on, "INSERT INTO events(kind, payload) VALUES (?, ?)", -1, &insert,
                             nullptr) == SQLITE_OK);
    using clock_type = std::chrono::steady_clock;
    using length = std::chrono::duration<double>;
    const auto run_for = [&](double seconds) {
        unsigned long long done = 0;
        const auto began = clock_type::now();
        length took{};
        for (; took.count() < seconds; took = clock_type::now() - began, ++done) {
            sqlite3_bind_int(insert, 1, 7);
            sqlite3_bind_text(insert, 2, "a small event", -1, SQLITE_STATIC);
            check(sqlite3_step(insert) == SQLITE_DONE);
            sqlite3_reset(insert);
        }
        return std::pair(done, took.count());
    };
    run_for(std::atof(argv[4]));
    std::puts("ready");
    std::fflush(stdout);
    const auto [done, took] = run_for(std::atof(argv[5]));
    std::printf("{\"requests\": %llu, \"seconds\": %.6f}\n", done, took);
    std::fflush(stdout);
    run_for(0.1);  // until its times have been read
}
