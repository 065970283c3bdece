// SPDX-License-Identifier: MIT
// A subscription is a generator that owns a connection and reads from it only when it is resumed:
// if its reader is slow, messages wait in the sockets, and in the end Redis closes the connection,
// which is reported like any other loss. After a silence it sends a PING: without an answer the
// connection counts as lost.

#include "db/redis/subscription.hpp"

#include "db/redis/reply_reader.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/outcome.hpp>
#include <weir/scope.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <array>
#include <deque>

namespace weir::redis::detail {

namespace {

std::string encode_subscriptions(const std::vector<std::string>& channels,
                                 const std::vector<std::string>& patterns) {
    std::string text;
    const auto append_all = [&](const char* command, const std::vector<std::string>& names) {
        if (!names.empty()) {
            append_count(text, '*', names.size() + 1);
            append_word(text, command);
            for (const std::string& each : names) {
                append_word(text, each);
            }
        }
    };
    append_all("SUBSCRIBE", channels);
    append_all("PSUBSCRIBE", patterns);
    return text;
}

// One connection with its subscriptions.
class subscribed_connection {
public:
    subscribed_connection(const endpoint& server, const client_options& options)
        : server_(server),
          silence_(options.response_timeout),
          replies_(options.max_reply_bytes, options.max_reply_elements),
          buffer_(16 << 10) {}

    // Connects, and waits until all subscriptions are confirmed. Throws connection_error,
    // reply_error.
    task<> begin(const std::string& subscribes, std::size_t count) {
        early_.clear();
        stream_ = co_await server_.open(replies_);
        unconfirmed_ = count;
        co_await timeout(server_.connect_timeout(), confirm(subscribes));
    }
    // The next message. Throws connection_error, io_error or similar when the connection is lost.
    task<message> next() {
        if (!early_.empty()) {
            message first = std::move(early_.front());
            early_.pop_front();
            co_return first;
        }
        for (;;) {
            std::optional<value> reply = replies_.next();
            if (!reply.has_value()) {
                co_await read();
                continue;
            }
            std::optional<message> received = take(std::move(*reply));
            if (received.has_value()) {
                co_return std::move(*received);
            }
        }
    }
    void end() noexcept { stream_ = {}; }

private:
    task<> confirm(const std::string& subscribes) {
        co_await stream_.write(subscribes);
        while (unconfirmed_ > 0) {
            std::optional<value> reply = replies_.next();
            if (!reply.has_value()) {
                co_await read();
                continue;
            }
            std::optional<message> received = take(std::move(*reply));
            if (received.has_value()) {
                early_.push_back(std::move(*received));
            }
        }
    }
    task<> read() {
        std::optional<std::size_t> count = co_await read_within();
        if (!count.has_value()) {
            std::string ping;
            append_command(ping, "PING");
            co_await timeout(silence_, stream_.write(ping));
            count = co_await read_within();
        }
        if (!count.has_value()) {
            throw connection_error("no answer within the response_timeout", db::retry_advice::yes);
        }
        if (*count == 0) {
            throw connection_error("the connection was closed", db::retry_advice::yes);
        }
        replies_.feed(std::string_view(buffer_.data(), *count));
    }
    task<std::optional<std::size_t>> read_within() {
        cancel_scope limit(silence_);
        std::optional<std::size_t> count = co_await limit.run(stream_.read(buffer_));
        co_return count;
    }
    std::optional<message> take(value reply) {
        if (reply.is_error()) {
            throw reply_error(reply.error());
        }
        value::list& parts = reply.elements();
        const std::string& kind = parts.at(0).text();
        if (kind == "message" && parts.size() == 3) {
            return message{std::move(parts[1]).text(), {}, std::move(parts[2]).text(), false};
        }
        if (kind == "pmessage" && parts.size() == 4) {
            return message{std::move(parts[2]).text(), std::move(parts[1]).text(),
                           std::move(parts[3]).text(), false};
        }
        if (kind == "subscribe" || kind == "psubscribe") {
            unconfirmed_ -= unconfirmed_ > 0 ? 1 : 0;
        } else if (kind != "pong") {
            throw connection_error("Redis sent a reply that is no message", db::retry_advice::yes);
        }
        return std::nullopt;
    }

    const endpoint& server_;
    clock::duration silence_;
    reply_reader replies_;
    std::vector<char> buffer_;
    io::any_stream stream_;
    std::size_t unconfirmed_ = 0;
    std::deque<message> early_;  // received before the last confirmation
};

// Whether a retry cannot help.
bool is_permanent(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const reply_error& refusal) {
        return refusal.advice() == db::retry_advice::no;
    } catch (const std::bad_alloc&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

generator<message> subscribe(endpoint server, client_options options,
                             std::vector<std::string> channels, std::vector<std::string> patterns) {
    const std::string subscribes = encode_subscriptions(channels, patterns);
    const std::size_t count = channels.size() + patterns.size();
    subscribed_connection connection(server, options);
    co_await connection.begin(subscribes, count);
    for (;;) {
        outcome<message> received = co_await settle(connection.next());
        if (received.has_value()) {
            co_yield moved(received.value());
            continue;
        }
        if (is_permanent(received.error())) {
            std::rethrow_exception(received.error());
        }
        connection.end();
        for (std::size_t failures = 1;; ++failures) {
            const clock::duration pause = options.pause_after(failures);
            co_await sleep(pause);
            const outcome<> begun = co_await settle(connection.begin(subscribes, count));
            if (begun.has_value()) {
                break;
            }
            if (is_permanent(begun.error())) {
                std::rethrow_exception(begun.error());
            }
        }
        message missed;
        missed.missed = true;
        co_yield moved(missed);
    }
}

}  // namespace weir::redis::detail
