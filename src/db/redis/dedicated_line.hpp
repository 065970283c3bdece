// SPDX-License-Identifier: MIT
// An open connection with one command at a time.
#pragma once

#include "db/redis/endpoint.hpp"
#include "db/redis/reply_reader.hpp"

#include <weir/clock.hpp>
#include <weir/db/redis/client.hpp>
#include <weir/db/redis/value.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/task.hpp>

#include <string>
#include <vector>

namespace weir::redis::detail {

class dedicated_line {
public:
    dedicated_line(const endpoint& server, const client_options& options);

    // Throws connection_error.
    task<> open();
    // The reply; an error reply too. The connection is closed if it throws or is stopped.
    task<value> exchange(std::string encoded, bool is_blocking);

    bool is_open() const noexcept { return is_open_; }
    void close() noexcept;

private:
    task<value> read_reply();

    const endpoint server_;
    const clock::duration response_timeout_;
    reply_reader replies_;
    std::vector<char> buffer_;
    io::any_stream stream_;
    bool is_open_ = false;
    bool is_busy_ = false;
};

}  // namespace weir::redis::detail
