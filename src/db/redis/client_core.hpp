// SPDX-License-Identifier: MIT
// The connection behind a client, and the commands on their way.
#pragma once

#include "db/redis/reply_reader.hpp"

#include <weir/db/redis/client.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/scope.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>

#include <deque>
#include <string>

namespace weir::redis::detail {

// A command that was sent. Its waiter may have gone.
struct sent_entry {
    exchange_call* waiter;
    std::size_t count;  // of answers that are still to come
    clock::time_point since;
    std::vector<value> replies;
};

// Opens a connection as the options say, authenticated and with the database chosen.
struct endpoint {
    explicit endpoint(const client_options& options);
    task<io::any_stream> open(reply_reader& answers) const;
    std::string named() const { return "redis at " + where; }

    std::string where;
    std::string host;
    std::string user;
    std::string password;
    int database;
    std::optional<tls::context> tls;
    clock::duration connect_timeout;

private:
    task<io::any_stream> begin(reply_reader& answers) const;
};

class client_core : public std::enable_shared_from_this<client_core> {
public:
    explicit client_core(const client_options& options);

    void start();  // its task
    void stop() noexcept;

    bool enter(exchange_call& asked) noexcept;
    void withdraw(exchange_call& asked) noexcept;
    client_stats stats() const noexcept;
    const endpoint& where() const noexcept { return at_; }
    const client_options& options() const noexcept { return options_; }

private:
    static task<> run(std::shared_ptr<client_core> own);
    task<> live();
    task<> talk(io::any_stream stream);
    task<> read(io::any_stream& from);
    task<> write(io::any_stream& to);
    void take(value reply);
    void gather(std::string& into);
    void fail_sent(const std::string& why) noexcept;
    void fail_unsent(const std::exception_ptr& why) noexcept;
    exchange_call* pop_unsent() noexcept;

    const endpoint at_;
    const client_options options_;  // the numbers in it
    reply_reader answers_;
    exchange_call* first_ = nullptr;  // those that have not been sent
    exchange_call* last_ = nullptr;
    std::size_t unsent_ = 0;
    std::deque<sent_entry> sent_;
    event work_;
    cancel_scope* reading_ = nullptr;
    std::size_t failures_ = 0;  // attempts to connect, in a row
    bool is_connected_ = false;
    bool is_closed_ = false;
    client_stats counts_;
    handle<void> running_;
};

}  // namespace weir::redis::detail
