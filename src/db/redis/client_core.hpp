// SPDX-License-Identifier: MIT
// A client's connection, and its commands on their way.
#pragma once

#include "db/redis/endpoint.hpp"
#include "db/redis/reply_reader.hpp"

#include <weir/db/redis/client.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/scope.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>

#include <deque>
#include <string>

namespace weir::redis::detail {

// Commands that were sent. The waiter is null if its task was stopped.
struct sent_entry {
    exchange_call* waiter;
    std::size_t count;  // replies that are still to come
    clock::time_point since;
    std::vector<value> replies;
};

class client_core : public std::enable_shared_from_this<client_core> {
public:
    explicit client_core(const client_options& options);

    void start();  // its task
    void stop() noexcept;

    // True: the call will be completed. False: it has failed already.
    bool enter(exchange_call& call) noexcept;
    // The call's task was stopped.
    void withdraw(exchange_call& call) noexcept;
    client_stats stats() const noexcept;
    const endpoint& server() const noexcept { return server_; }
    const client_options& options() const noexcept { return options_; }

private:
    static task<> run(std::shared_ptr<client_core> self);
    task<> connect_and_serve();
    task<> serve(io::any_stream stream);
    task<> read(io::any_stream& from);
    task<> write(io::any_stream& to);
    void take(value reply);
    void take_unsent(std::string& encoded);
    void fail_sent(const std::string& reason) noexcept;
    void fail_unsent(const std::exception_ptr& error) noexcept;
    exchange_call& pop_unsent() noexcept;

    const endpoint server_;
    const client_options options_;  // only its numbers; its texts may be gone
    reply_reader replies_;
    weir::detail::intrusive_list<exchange_call> unsent_;
    std::size_t unsent_count_ = 0;
    std::deque<sent_entry> sent_;
    event has_work_;
    cancel_scope* reading_ = nullptr;  // the read in progress
    std::size_t failures_ = 0;         // failed attempts to connect, in a row
    bool is_connected_ = false;
    bool is_closed_ = false;
    client_stats counts_;
    handle<void> running_;
};

}  // namespace weir::redis::detail
