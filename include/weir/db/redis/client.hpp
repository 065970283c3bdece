// SPDX-License-Identifier: MIT
// A client of Redis. Tasks share one connection: their commands go out together and the answers
// find their way back, so that many small commands cost few system calls.
//
//     redis::client store({.host = "127.0.0.1"});
//     co_await store.command("SET", "key", text, "EX", 60);
//     const redis::value count = co_await store.command("INCR", "visits");
//
// Connects with the first command, and again after the connection was lost. Commands that were on
// their way then fail with connection_error: nobody knows whether they were done. Those that had
// not been sent wait for the new connection.
//
// Cancelling: a command that was not sent is withdrawn; one that was sent may be done all the same,
// and its answer is dropped. Belongs to one loop. For commands that block (BLPOP) use a client of
// their own, since all behind them wait.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/clock.hpp>
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
    const tls::context* tls = nullptr;  // speaks TLS; copied
    clock::duration connect_timeout = std::chrono::seconds(5);
    // No answer for so long: the connection counts as dead.
    clock::duration response_timeout = std::chrono::seconds(10);
    // After a failure, before the next attempt: doubled each time, up to the second.
    clock::duration reconnect_delay = std::chrono::milliseconds(20);
    clock::duration max_reconnect_delay = std::chrono::seconds(2);
    std::size_t max_pending = 100'000;        // commands under way: more are refused
    std::size_t max_reply_bytes = 512 << 20;  // of one answer
    std::size_t max_reply_elements = 1 << 24;

    // Before the next attempt to connect, after so many in a row that failed.
    clock::duration pause_after(std::size_t failures) const noexcept;
};

struct client_stats {
    std::uint64_t commands = 0;  // sent
    std::uint64_t writes = 0;    // that it took
    std::uint64_t connections = 0;
    std::uint64_t lost = 0;  // commands whose answer never came
    std::size_t pending = 0;
    bool is_connected = false;
};

namespace detail {

// One or more commands that go out together, and their answers.
class [[nodiscard]] exchange_call : public operation {
public:
    exchange_call(std::shared_ptr<client_core> by, std::string encoded, std::size_t count) noexcept
        : core_(std::move(by)), encoded_(std::move(encoded)), count_(count) {}
    exchange_call(exchange_call&& unawaited) noexcept
        : operation(),
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
    void answered(std::vector<value> replies) noexcept;
    void failed(std::exception_ptr why) noexcept;

    std::shared_ptr<client_core> core_;
    std::string encoded_;
    std::size_t count_;
    exchange_call* next_ = nullptr;  // among those that have not been sent
    exchange_call* previous_ = nullptr;
    sent_entry* entry_ = nullptr;  // if it has
    bool is_queued_ = false;
    std::vector<value> replies_;
    std::exception_ptr failure_;
};

class [[nodiscard]] command_call final : public exchange_call {
public:
    using exchange_call::exchange_call;
    // Throws reply_error if Redis refused.
    value resume();
};

class [[nodiscard]] batch_call final : public exchange_call {
public:
    using exchange_call::exchange_call;
};

}  // namespace detail

// Commands that follow one another without others between them: MULTI, ..., EXEC above all.
class batch {
public:
    template <class... Words>
    batch& add(const Words&... words) {
        detail::append_command(encoded_, words...);
        ++count_;
        return *this;
    }
    std::size_t size() const noexcept { return count_; }

private:
    friend class client;
    std::string encoded_;
    std::size_t count_ = 0;
};

// A script that Redis keeps by its digest: sent in whole only where it is not known.
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
    // Throws invalid_argument for options that make no sense, loop_error outside a loop.
    explicit client(const client_options& options = {});
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    // Commands under way fail.
    ~client();

    // co_await command("SET", key, text): the answer. Words are texts, with any bytes in them, and
    // numbers. Throws reply_error, connection_error; invalid_argument for commands that change how
    // Redis answers (SUBSCRIBE, MONITOR, HELLO, CLIENT REPLY and their like).
    template <class... Words>
    detail::command_call command(const Words&... words) {
        std::string encoded;
        detail::append_command(encoded, words...);
        return {core_, std::move(encoded), 1};
    }
    // The same with the words in a list.
    detail::command_call command_of(std::span<const std::string> words);
    // co_await send(batch): all answers, errors among them as values.
    detail::batch_call send(const batch& commands);
    // co_await run(script, keys, arguments).
    task<value> run(const script& what, std::vector<std::string> keys,
                    std::vector<std::string> arguments = {});

    // auto news = store.subscribe({"orders"}); while (auto each = co_await news.next()) { ... }
    //
    // The messages of channels, and of all channels that fit a pattern ('orders.*'), on a
    // connection of its own, which the first next() makes; it does not need the client any more. A
    // connection that is lost, or silent (no answer to a PING), is made again, without end; then
    // comes a message with missed = true. Nothing is read while nobody asks for the next one.
    // Throws invalid_argument if there is nothing to listen to; next() throws connection_error if
    // the first connection fails, reply_error if Redis refuses.
    generator<message> subscribe(std::vector<std::string> channels,
                                 std::vector<std::string> patterns = {});

    // The most common ones.
    task<std::optional<std::string>> get(std::string key);
    task<> set(std::string key, std::string text);
    task<bool> remove(std::string key);
    task<std::int64_t> increment(std::string key, std::int64_t by = 1);

    client_stats stats() const noexcept;

private:
    std::shared_ptr<detail::client_core> core_;
};

}  // namespace weir::redis
