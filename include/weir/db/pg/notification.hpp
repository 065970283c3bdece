// SPDX-License-Identifier: MIT
// LISTEN and NOTIFY: what other connections say.
//
//     auto changes = database.listen("orders");
//     while (auto said = co_await changes.next()) {
//         if (said->missed) { ... fetch all ... } else { ... fetch order said->payload ... }
//     }
//
// Others say it with `SELECT pg_notify('orders', '17')`, and it comes when their transaction is
// committed.
#pragma once

#include <weir/clock.hpp>
#include <weir/db/pg/options.hpp>
#include <weir/generator.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace weir::pg {

struct notification {
    std::string channel = {};
    std::string payload = {};  // up to 8000 bytes
    int process = 0;           // the connection that said it: its pg_stat_activity.pid
    // Others may have said things that nobody heard: listening begins here, at the start or after a
    // lost connection. It has no channel and no payload. What is fetched now, and what comes later,
    // is all.
    bool missed = false;
};

struct listen_options {
    // A lost connection is made again after this; it doubles with every failure, up to the other.
    clock::duration reconnect_after = std::chrono::milliseconds(100);
    clock::duration reconnect_at_most = std::chrono::seconds(10);
    // When nothing was said for so long, the server is asked whether it is there, and given some
    // time to answer before the connection counts as lost.
    clock::duration check_every = std::chrono::seconds(30);
    clock::duration check_timeout = std::chrono::seconds(10);
};

namespace detail {
class endpoint;

// Throws invalid_argument.
void check_listen(const std::vector<std::string>& channels, const listen_options& how);
generator<notification> listen(std::shared_ptr<const endpoint> at,
                               std::vector<std::string> channels, listen_options how);
}  // namespace detail

// What is said on the channels, over a connection of its own, from the first next() on; it never
// ends by itself. The names are taken as they are, as pg_notify does, while NOTIFY without quotes
// makes them lower case. A lost connection is made again for as long as it takes, and the next one
// is then marked `missed`; so is the first. Who is slow to call next() slows nobody down: the
// server keeps what was said.
//
// next() throws connection_error if there is no connection at first, pg::error if the server
// refuses.
generator<notification> listen(const connect_options& options, std::string channel,
                               listen_options how = {});
generator<notification> listen(const connect_options& options, std::vector<std::string> channels,
                               listen_options how = {});

}  // namespace weir::pg
