// SPDX-License-Identifier: MIT
// A connection to Redis that one task has to itself: for WATCH and MULTI, for commands that block,
// and for settings of a connection.
//
//     redis::connection own = co_await store.connect();
//     co_await own.command("WATCH", "stock");
//     const redis::value left = co_await own.command("GET", "stock");
//     co_await own.command("MULTI");
//     co_await own.command("DECR", "stock");
//     const redis::value done = co_await own.command("EXEC");   // nil: another client changed it
//
// It is not opened again when it is lost. Stopping: a task that is stopped during a command closes
// the connection, so that a BLPOP at the server ends and takes nothing that nobody receives;
// commands that follow throw connection_error.
#pragma once

#include <weir/clock.hpp>
#include <weir/db/redis/detail/command_rules.hpp>
#include <weir/db/redis/detail/encode.hpp>
#include <weir/db/redis/error.hpp>
#include <weir/db/redis/value.hpp>
#include <weir/task.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weir::redis {

namespace detail {
class dedicated_line;
}

class connection {
public:
    connection(connection&& other) noexcept;
    connection& operator=(connection&& other) noexcept;
    ~connection();

    // co_await command(words...): as client::command; one at a time. Commands that may block
    // (BLPOP, WAIT, XREAD ...) are awaited without the response_timeout. Throws invalid_argument
    // for commands that change how Redis answers, invalid_state while another command is in flight.
    template <class... Words>
    task<value> command(const Words&... words) {
        std::string encoded;
        detail::check_words(detail::check_for_dedicated, words...);
        detail::append_command(encoded, words...);
        bool is_blocking = false;
        detail::check_words(
            [&](std::string_view name, std::string_view) { is_blocking = detail::may_block(name); },
            words...);
        return exchange(std::move(encoded), is_blocking);
    }

    bool is_open() const noexcept;
    void close() noexcept;

    // For the library.
    explicit connection(std::unique_ptr<detail::dedicated_line> line) noexcept;

private:
    task<value> exchange(std::string encoded, bool is_blocking);

    std::unique_ptr<detail::dedicated_line> line_;
};

}  // namespace weir::redis
