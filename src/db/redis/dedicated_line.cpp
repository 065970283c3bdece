// SPDX-License-Identifier: MIT
// A command is written, and its reply read, by the task that wants it. If that does not come to its
// end, the connection is closed: nobody knows what the next reply would belong to.

#include "db/redis/dedicated_line.hpp"

#include <weir/db/redis/error.hpp>
#include <weir/error.hpp>
#include <weir/timeout.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace weir::redis::detail {

dedicated_line::dedicated_line(const endpoint& server, const client_options& options)
    : server_(server),
      response_timeout_(options.response_timeout),
      replies_(options.max_reply_bytes, options.max_reply_elements),
      buffer_(16 << 10) {}

task<> dedicated_line::open() {
    stream_ = co_await server_.open(replies_);
    is_open_ = true;
}

void dedicated_line::close() noexcept {
    is_open_ = false;
    if (!is_busy_) {
        stream_ = {};
    }
}

task<value> dedicated_line::exchange(std::string encoded, bool is_blocking) {
    if (is_busy_) {
        throw invalid_state(
            "redis: a command is in flight on this connection, which is for one task at a time");
    }
    if (!is_open_) {
        throw connection_error(server_.name() + ": the connection is closed",
                               db::retry_advice::yes);
    }
    struct end_guard {
        dedicated_line& line;
        bool is_complete = false;
        ~end_guard() {
            line.is_busy_ = false;
            if (!is_complete || !line.is_open_) {
                line.close();
            }
        }
    };
    is_busy_ = true;
    end_guard guard{*this};
    std::string failure;
    try {
        co_await timeout(response_timeout_, stream_.write(encoded));
        value reply;
        if (is_blocking) {
            reply = co_await read_reply();
        } else {
            reply = co_await timeout(response_timeout_, read_reply());
        }
        guard.is_complete = true;
        co_return std::move(reply);
    } catch (const timed_out&) {
        failure = "no answer within the response_timeout";
    } catch (const std::exception& error) {
        failure = error.what();
    }
    throw connection_error(server_.name() + ": " + failure, db::retry_advice::if_harmless);
}

task<value> dedicated_line::read_reply() {
    for (;;) {
        std::optional<value> reply = replies_.next();
        if (reply.has_value()) {
            co_return std::move(*reply);
        }
        const std::size_t count = co_await stream_.read(buffer_);
        if (count == 0) {
            throw connection_error("the connection was closed", db::retry_advice::if_harmless);
        }
        replies_.feed(std::string_view(buffer_.data(), count));
    }
}

}  // namespace weir::redis::detail
