// SPDX-License-Identifier: MIT
// A client of Redis. Tasks share one connection: their commands go out together, and each task gets
// its own reply, so that many small commands cost few system calls.
//
//     redis::client store({.host = "127.0.0.1"});
//     co_await store.command("SET", "key", text, "EX", 60);
//     const redis::value count = co_await store.command("INCR", "visits");
//
// It connects with the first command, and again after the connection was lost. Commands in flight
// then fail with connection_error, since Redis may have performed them or not. Commands that were
// not sent wait for the new connection.
//
// Stopping: a command that was not sent is withdrawn; a command that was sent may still be
// performed, and its reply is dropped. Belongs to one loop. Use connect() for commands that block
// (BLPOP): all commands behind them would wait.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/intrusive_list.hpp>
#include <weir/clock.hpp>
#include <weir/db/redis/connection.hpp>
#include <weir/db/redis/detail/command_rules.hpp>
#include <weir/db/redis/detail/encode.hpp>
#include <weir/db/redis/error.hpp>
#include <weir/db/redis/message.hpp>
#include <weir/db/redis/value.hpp>
#include <weir/generator.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::tls {
class context;
}

namespace weir::redis {

namespace detail {
class client_core;
struct sent_entry;
}  // namespace detail

// The texts are copied.
struct client_options {
    std::string_view host = "127.0.0.1";  // or a path, 'unix:/run/redis.sock'
    std::uint16_t port = 6379;
    std::string_view user{};      // of an access list; default: no name
    std::string_view password{};  // empty: no AUTH
    int database = 0;
    const tls::context* tls = nullptr;  // null: no TLS; copied
    clock::duration connect_timeout = std::chrono::seconds(5);
    // Without a reply for so long the connection counts as lost.
    clock::duration response_timeout = std::chrono::seconds(10);
    // The delay before the next attempt after a failure; it doubles with every failure, up to the
    // maximum.
    clock::duration reconnect_delay = std::chrono::milliseconds(20);
    clock::duration max_reconnect_delay = std::chrono::seconds(2);
    std::size_t max_pending = 100'000;        // commands that wait or are in flight: more fail
    std::size_t max_reply_bytes = 512 << 20;  // of one reply
    std::size_t max_reply_elements = 1 << 24;

    // The delay before the next attempt to connect, after so many failures in a row.
    clock::duration pause_after(std::size_t failures) const noexcept;
};

struct client_stats {
    std::uint64_t commands = 0;  // sent
    std::uint64_t writes = 0;    // in which they were sent
    std::uint64_t connections = 0;
    std::uint64_t lost = 0;  // commands that were never answered
    std::size_t pending = 0;
    bool is_connected = false;
};

namespace detail {

// One or more commands that go out together, and their replies.
class [[nodiscard]] exchange_call : public operation, public weir::detail::list_link<> {
public:
    exchange_call(std::shared_ptr<client_core> core, std::string encoded,
                  std::size_t count) noexcept
        : core_(std::move(core)), encoded_(std::move(encoded)), count_(count) {}
    exchange_call(exchange_call&& unawaited) noexcept
        : operation(),
          list_link(),
          core_(std::move(unawaited.core_)),
          encoded_(std::move(unawaited.encoded_)),
          count_(unawaited.count_) {}

    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "redis"; }
    std::vector<value> resume();

protected:
    ~exchange_call() = default;

private:
    friend class client_core;
    void succeed(std::vector<value> replies) noexcept;
    void fail(std::exception_ptr error) noexcept;

    std::shared_ptr<client_core> core_;
    std::string encoded_;
    std::size_t count_;
    sent_entry* sent_ = nullptr;  // while its replies are to come
    std::vector<value> replies_;
    std::exception_ptr failure_;
};

class WEIR_MUST_AWAIT command_call final : public exchange_call {
public:
    using exchange_call::exchange_call;
    // Throws reply_error if Redis refused.
    value resume();
};

class WEIR_MUST_AWAIT batch_call final : public exchange_call {
public:
    using exchange_call::exchange_call;
};

}  // namespace detail

// Commands that are sent without others between them, such as MULTI, ..., EXEC.
class batch {
public:
    // Throws invalid_argument for commands that change the connection beyond the batch.
    template <class... Words>
    batch& add(const Words&... words) {
        detail::check_words(
            [this](std::string_view name, std::string_view second) { rules_.add(name, second); },
            words...);
        detail::append_command(encoded_, words...);
        ++count_;
        return *this;
    }
    std::size_t size() const noexcept { return count_; }

private:
    friend class client;
    detail::batch_rules rules_;
    std::string encoded_;
    std::size_t count_ = 0;
};

// A script that Redis caches by its digest: its source is sent only if Redis does not know it.
class script {
public:
    explicit script(std::string source);
    const std::string& source() const noexcept { return source_; }
    const std::string& digest() const noexcept { return digest_; }

private:
    std::string source_;
    std::string digest_;  // SHA-1, in hexadecimal
};

class client {
public:
    // Throws invalid_argument for invalid options, loop_error outside a loop.
    explicit client(const client_options& options = {});
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    // Commands in flight fail.
    ~client();

    // co_await command("SET", key, text): the reply. Words are texts, with any bytes, and numbers.
    // Throws reply_error, connection_error; invalid_argument for commands that change the
    // connection (MULTI, WATCH, SELECT, ...) or how Redis answers (SUBSCRIBE, MONITOR, ...).
    template <class... Words>
    detail::command_call command(const Words&... words) {
        std::string encoded;
        detail::check_words(detail::check_for_shared, words...);
        detail::append_command(encoded, words...);
        return {core_, std::move(encoded), 1};
    }
    // The same with the words in a list.
    detail::command_call command_of(std::span<const std::string> words);
    // co_await send(batch): all replies, with errors as values. Throws invalid_argument for a batch
    // that is empty, or has a MULTI or WATCH without an end.
    detail::batch_call send(const batch& commands);
    // co_await run(script, keys, arguments).
    task<value> run(const script& called, std::vector<std::string> keys,
                    std::vector<std::string> arguments = {});

    // co_await connect(): a connection that one task has to itself. Throws connection_error.
    task<connection> connect() const;

    // auto news = store.subscribe({"orders"}); while (auto each = co_await news.next()) { ... }
    //
    // The messages of channels, and of all channels that match a pattern ('orders.*'), on a
    // connection of its own, which the first next() opens; the client may be destroyed before. A
    // connection that is lost, or silent (no answer to a PING), is opened again, with retries
    // without end; then comes a message with missed = true. The connection is read only in next().
    // Throws invalid_argument without a channel or pattern; next() throws connection_error if the
    // first connection fails, reply_error if Redis refuses.
    generator<message> subscribe(std::vector<std::string> channels,
                                 std::vector<std::string> patterns = {});

    // The most common commands.
    task<std::optional<std::string>> get(std::string key);
    task<> set(std::string key, std::string text);
    task<bool> remove(std::string key);
    task<std::int64_t> increment(std::string key, std::int64_t by = 1);

    client_stats stats() const noexcept;

private:
    std::shared_ptr<detail::client_core> core_;
};

}  // namespace weir::redis
