// SPDX-License-Identifier: MIT
// A Redis server's address and credentials, and connecting to it.
#pragma once

#include "db/redis/reply_reader.hpp"

#include <weir/clock.hpp>
#include <weir/db/redis/client.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/task.hpp>

#include <optional>
#include <string>

namespace weir::redis::detail {

class endpoint {
public:
    explicit endpoint(const client_options& options);

    // A connection, authenticated and with the database selected. Throws connection_error.
    task<io::any_stream> open(reply_reader& replies) const;
    // For messages.
    std::string name() const { return "redis at " + address_; }
    clock::duration connect_timeout() const noexcept { return connect_timeout_; }

private:
    task<io::any_stream> connect(reply_reader& replies) const;

    std::string address_;
    std::string host_;
    std::string user_;
    std::string password_;
    int database_;
    std::optional<tls::context> tls_;
    clock::duration connect_timeout_;
};

}  // namespace weir::redis::detail
