// SPDX-License-Identifier: MIT
//
// Suite db on Weir's PostgreSQL: tasks that share a database, as it comes.
#include "measuring.hpp"

#include <weir/db/pg/database.hpp>

#include <random>
#include <stdexcept>

namespace {

namespace pg = weir::pg;

constexpr int rows = 10'000;

struct item {
    std::int32_t id;
    std::string name;
    double price;
};

weir::task<> select(const bench::db_arguments& as, pg::database& on) {
    auto reader = [&](std::size_t number, std::uint64_t& done) -> weir::task<> {
        std::minstd_rand random(static_cast<unsigned>(number + 1));
        for (;;) {
            const int id = 1 + static_cast<int>(random() % rows);
            const pg::rows found =
                co_await on.query("SELECT id, name, price FROM items WHERE id = $1", id);
            if (found.one<item>().id != id) {
                throw std::runtime_error("another answer");
            }
            ++done;
        }
    };
    co_await bench::measure(as, reader);
}

weir::task<> insert(const bench::db_arguments& as, pg::database& on) {
    auto writer = [&](std::size_t, std::uint64_t& done) -> weir::task<> {
        for (;;) {
            done += co_await on.execute("INSERT INTO events(kind, payload) VALUES ($1, $2)", 7,
                                        "a small event");
        }
    };
    co_await bench::measure(as, writer);
}

weir::task<> transact(const bench::db_arguments& as, pg::database& on) {
    auto writer = [&](std::size_t number, std::uint64_t& done) -> weir::task<> {
        std::minstd_rand random(static_cast<unsigned>(number + 1));
        auto body = [&](pg::transaction& inside) -> weir::task<> {
            const int id = 1 + static_cast<int>(random() % rows);
            co_await inside.execute("UPDATE accounts SET balance = balance + $2 WHERE id = $1", id,
                                    1);
            const pg::rows found =
                co_await inside.query("SELECT balance FROM accounts WHERE id = $1", id);
            if (found.size() != 1) {
                throw std::runtime_error("another answer");
            }
        };
        for (;;) {
            co_await on.transaction(body);
            ++done;
        }
    };
    co_await bench::measure(as, writer);
}

weir::task<> run(const bench::db_arguments& as) {
    // The pool is as large as that of the peers.
    pg::database on({.url = as.where}, {.pool = {.max = 32}});
    if (as.workload == "pg_64") {
        co_await select(as, on);
    } else if (as.workload == "pg_insert") {
        co_await insert(as, on);
    } else {
        co_await transact(as, on);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::db_arguments as = bench::db_arguments::parse(argc, argv);
    if (!as.workload.starts_with("pg_")) {
        return 64;
    }
    weir::loop loop({.driver = as.driver});
    loop.run(run(as));
}
