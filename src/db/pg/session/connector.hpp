// SPDX-License-Identifier: MIT
// A server's address, and connecting to it.
#pragma once

#include "db/pg/session/libpq.hpp"
#include "db/pg/session/session_setup.hpp"

#include <weir/db/pg/options.hpp>
#include <weir/task.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::pg::detail {

// Throws invalid_argument for options that are out of range.
void check(const connect_options& options);

class connector {
public:
    // Throws invalid_argument if the URL cannot be parsed; the message quotes nothing of it.
    explicit connector(const connect_options& options);

    // Connects, and sets the session up. Throws connection_error.
    task<opened_connection> open() const;
    // The server's name in messages: its host, or what is known instead.
    const std::string& name() const noexcept { return name_; }

private:
    using settings = std::vector<std::pair<std::string, std::string>>;

    task<connection_ptr> connect() const;
    task<opened_connection> connect_and_set_up() const;
    task<settings> resolved() const;
    const std::string* find(std::string_view keyword) const noexcept;

    settings settings_;
    std::string name_;
    clock::duration timeout_;
};

}  // namespace weir::pg::detail
