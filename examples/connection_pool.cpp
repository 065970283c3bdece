// SPDX-License-Identifier: MIT
// P11: a connection pool: each connection is lent to one query at a time, checked, and always
// returned

#include <weir/flow/pool.hpp>
#include <weir/weir.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct connection {
    int number;
    bool is_alive = true;

    weir::task<std::string> execute(std::string sql) {
        co_await weir::sleep(100ms);
        if (sql == "crash") {
            is_alive = false;
            throw std::runtime_error("the server closed the connection");
        }
        co_return sql + " on connection " + std::to_string(number);
    }
};

weir::task<connection> create_connection() {
    static int count = 0;
    co_await weir::sleep(50ms);
    std::printf("Connection %d opened\n", ++count);
    co_return connection{count};
}
weir::task<> close_connection(connection& one) {
    co_await weir::sleep(10ms);
    std::printf("Connection %d closed\n", one.number);
}

// However the query ends (with a result, an error, or a cancel), the lease gives the connection
// back.
weir::task<std::string> query(weir::pool<connection>& pool, std::string sql) {
    auto connection = co_await pool.acquire();
    co_return co_await connection->execute(sql);
}

weir::task<> show() {
    weir::pool<connection> pool({.name = "database", .max = 2, .max_wait = 5s},
                                {.connect = create_connection,
                                 .check = [](connection& one) { return one.is_alive; },
                                 .close = close_connection});

    std::puts("-- five queries, two connections");
    std::vector<weir::task<std::string>> queries;
    for (int i = 1; i <= 5; ++i) {
        queries.push_back(query(pool, "SELECT " + std::to_string(i)));
    }
    const auto results = co_await weir::gather(std::move(queries));
    for (const std::string& each : results) {
        std::puts(each.c_str());
    }

    std::puts("-- a connection breaks: it is not lent again");
    try {
        co_await query(pool, "crash");
    } catch (const std::runtime_error& error) {
        std::printf("Query failed: %s\n", error.what());
    }
    {
        const auto both = co_await weir::gather(query(pool, "SELECT 6"), query(pool, "SELECT 7"));
        std::printf("%s, %s\n", std::get<0>(both).c_str(), std::get<1>(both).c_str());
    }

    std::puts("-- a query is cancelled: its connection comes back");
    try {
        co_await weir::timeout(20ms, query(pool, "SELECT 8"));
    } catch (const weir::timed_out&) {
        std::printf("Timed out; idle: %zu, lent: %zu\n", pool.stats().idle, pool.stats().lent);
    }

    std::puts("-- the end");
    co_await pool.close();
    try {
        co_await query(pool, "SELECT 9");
    } catch (const weir::refused& refusal) {
        std::puts(refusal.what());
    }
}

int main() {
    weir::run(show(), weir::loop_options{.driver = weir::driver_kind::simulated});
}
