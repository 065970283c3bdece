// SPDX-License-Identifier: MIT
// A subscription is a generator that owns a connection and reads from it when its reader asks for
// more: who is slow lets the messages wait in the sockets, and in the end Redis drops the
// connection, which the reader is told as for any other loss. In silence it sends a PING: an answer
// is due, unless the connection is dead.

#include "db/redis/client_core.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/outcome.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <array>
#include <deque>

namespace weir::redis {

namespace detail {

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

// One connection, subscribed.
class listening {
public:
    listening(const endpoint& at, const client_options& options)
        : at_(at),
          silence_(options.response_timeout),
          answers_(options.max_reply_bytes, options.max_reply_elements),
          buffer_(16 << 10) {}

    // Until all subscriptions stand. Throws connection_error, reply_error.
    task<> begin(const std::string& subscribes, std::size_t count) {
        early_.clear();
        stream_ = co_await at_.open(answers_);
        unconfirmed_ = count;
        co_await timeout(at_.connect_timeout, confirm(subscribes));
    }
    // The next message. Throws connection_error, io_error and their like when the connection is
    // lost.
    task<message> next() {
        if (!early_.empty()) {
            message first = std::move(early_.front());
            early_.pop_front();
            co_return first;
        }
        for (;;) {
            std::optional<value> came = answers_.next();
            if (!came.has_value()) {
                co_await read();
                continue;
            }
            std::optional<message> made = take(std::move(*came));
            if (made.has_value()) {
                co_return std::move(*made);
            }
        }
    }
    void end() noexcept { stream_ = {}; }

private:
    task<> confirm(const std::string& subscribes) {
        co_await stream_.write(subscribes);
        while (unconfirmed_ > 0) {
            std::optional<value> came = answers_.next();
            if (!came.has_value()) {
                co_await read();
                continue;
            }
            std::optional<message> made = take(std::move(*came));
            if (made.has_value()) {
                early_.push_back(std::move(*made));
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
            throw connection_error("no answer came within the response_timeout",
                                   db::retry_advice::yes);
        }
        if (*count == 0) {
            throw connection_error("the connection was closed", db::retry_advice::yes);
        }
        answers_.feed(std::string_view(buffer_.data(), *count));
    }
    task<std::optional<std::size_t>> read_within() {
        cancel_scope limit(silence_);
        std::optional<std::size_t> count = co_await limit.run(stream_.read(buffer_));
        co_return count;
    }
    std::optional<message> take(value came) {
        if (came.is_error()) {
            throw reply_error(came.error());
        }
        value::list& parts = came.elements();
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
            throw connection_error("what came is no message", db::retry_advice::yes);
        }
        return std::nullopt;
    }

    const endpoint& at_;
    clock::duration silence_;
    reply_reader answers_;
    std::vector<char> buffer_;
    io::any_stream stream_;
    std::size_t unconfirmed_ = 0;
    std::deque<message> early_;  // came before the last subscription stood
};

bool is_lasting(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const reply_error& said) {
        return said.advice() == db::retry_advice::no;
    } catch (const std::bad_alloc&) {
        return true;
    } catch (...) {
        return false;
    }
}

generator<message> listen(endpoint at, client_options options, std::vector<std::string> channels,
                          std::vector<std::string> patterns) {
    const std::string subscribes = encode_subscriptions(channels, patterns);
    const std::size_t count = channels.size() + patterns.size();
    listening connection(at, options);
    co_await connection.begin(subscribes, count);
    for (;;) {
        outcome<message> came = co_await settle(connection.next());
        if (came.has_value()) {
            co_yield moved(came.value());
            continue;
        }
        if (is_lasting(came.error())) {
            std::rethrow_exception(came.error());
        }
        connection.end();
        for (std::size_t failures = 1;; ++failures) {
            const clock::duration pause = options.pause_after(failures);
            co_await sleep(pause);
            const outcome<> begun = co_await settle(connection.begin(subscribes, count));
            if (begun.has_value()) {
                break;
            }
            if (is_lasting(begun.error())) {
                std::rethrow_exception(begun.error());
            }
        }
        message missed;
        missed.missed = true;
        co_yield moved(missed);
    }
}

}  // namespace

}  // namespace detail

generator<message> client::subscribe(std::vector<std::string> channels,
                                     std::vector<std::string> patterns) {
    if (channels.empty() && patterns.empty()) {
        throw invalid_argument("redis: a subscription names at least one channel or pattern");
    }
    return detail::listen(core_->where(), core_->options(), std::move(channels),
                          std::move(patterns));
}

}  // namespace weir::redis
