// SPDX-License-Identifier: MIT
// Where a server is, and connecting to it.
#pragma once

#include <weir/db/pg/options.hpp>
#include <weir/task.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

struct pg_conn;

namespace weir::pg::detail {

struct finish_connection {
    void operator()(pg_conn* open) const noexcept;
};
using connection_ptr = std::unique_ptr<pg_conn, finish_connection>;

class endpoint {
public:
    // Throws invalid_argument if the text cannot be read; what it says then has nothing of the text
    // in it.
    explicit endpoint(const connect_options& options);

    // Throws connection_error.
    task<connection_ptr> open() const;
    // 'db.example.com' or what is said about the host; for messages.
    const std::string& where() const noexcept { return where_; }

private:
    using settings = std::vector<std::pair<std::string, std::string>>;

    task<connection_ptr> begin() const;
    task<settings> resolved() const;
    const std::string* find(std::string_view keyword) const noexcept;

    settings given_;
    std::string where_;
    clock::duration timeout_;
};

}  // namespace weir::pg::detail
