// SPDX-License-Identifier: MIT
// R16: an asynchronous context manager: opened, used, and always closed

#include <weir/weir.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

class database_connection {
public:
    explicit database_connection(std::string dsn) : dsn_(std::move(dsn)) {}

    weir::task<> open() {
        std::puts("Opening connection");
        co_await weir::sleep(100ms);
        is_connected_ = true;
    }
    // Receives how the use of the connection ended. Shielded: it always runs to its end.
    weir::task<> close(weir::ending end) {
        std::printf("Closing connection after %s\n", end == weir::ending::value   ? "success"
                                                     : end == weir::ending::error ? "an error"
                                                                                  : "a stop");
        co_await weir::sleep(100ms);
        is_connected_ = false;
    }
    weir::task<int> query() {
        std::printf("Using connection: %s, connected: %s\n", dsn_.c_str(),
                    is_connected_ ? "yes" : "no");
        co_await weir::sleep(200ms);
        co_return 10;
    }

private:
    std::string dsn_;
    bool is_connected_ = false;
};

weir::task<int> count_rows(database_connection& connection) {
    co_return co_await connection.query();
}
weir::task<int> fail(database_connection& connection) {
    co_await connection.query();
    throw std::runtime_error("syntax error");
}

weir::task<> show() {
    database_connection connection("postgresql://localhost");
    const int rows = co_await weir::with(connection, count_rows);
    std::printf("Rows: %d\n", rows);

    try {
        co_await weir::with(connection, fail);
    } catch (const std::runtime_error& error) {
        std::printf("Query failed: %s\n", error.what());
    }

    try {
        co_await weir::timeout(200ms, weir::with(connection, count_rows));
    } catch (const weir::timed_out&) {
        std::puts("Query timed out");
    }
}

int main() {
    weir::run(show(), weir::loop_options{.driver = weir::driver_kind::simulated});
}
