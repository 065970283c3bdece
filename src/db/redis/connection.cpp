// SPDX-License-Identifier: MIT
// The public connection forwards to its line.

#include "db/redis/dedicated_line.hpp"

#include <weir/db/redis/connection.hpp>
#include <weir/error.hpp>

namespace weir::redis {

connection::connection(std::unique_ptr<detail::dedicated_line> line) noexcept
    : line_(std::move(line)) {}
connection::connection(connection&& other) noexcept = default;
connection& connection::operator=(connection&& other) noexcept = default;
connection::~connection() = default;

bool connection::is_open() const noexcept {
    return line_ != nullptr && line_->is_open();
}

void connection::close() noexcept {
    if (line_ != nullptr) {
        line_->close();
    }
}

task<value> connection::exchange(std::string encoded, bool is_blocking) {
    if (line_ == nullptr) {
        throw invalid_state("redis: the connection was moved from");
    }
    value reply = co_await line_->exchange(std::move(encoded), is_blocking);
    if (reply.is_error()) {
        throw reply_error(reply.error());
    }
    co_return std::move(reply);
}

}  // namespace weir::redis
