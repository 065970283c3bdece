// SPDX-License-Identifier: MIT
// LISTEN and NOTIFY: messages between the connections of a database.
//
//     auto changes = database.listen("orders");
//     while (auto change = co_await changes.next()) {
//         if (change->missed) { ... fetch all ... } else { ... fetch order change->payload ... }
//     }
//
// Another connection sends one with `SELECT pg_notify('orders', '17')`; it is delivered when that
// transaction is committed.
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
    int process = 0;           // the sender's pg_stat_activity.pid
    // Earlier notifications may have been missed: listening begins here, at the start or after a
    // lost connection. Such a notification has no channel and no payload. Data that is fetched now,
    // together with later notifications, is complete.
    bool missed = false;
};

struct listen_options {
    // The delay before a lost connection is opened again; it doubles with every failure, up to the
    // maximum.
    clock::duration reconnect_after = std::chrono::milliseconds(100);
    clock::duration reconnect_at_most = std::chrono::seconds(10);
    // After this time without notifications, an empty query checks the connection; without an
    // answer within the timeout the connection counts as lost.
    clock::duration check_every = std::chrono::seconds(30);
    clock::duration check_timeout = std::chrono::seconds(10);
};

namespace detail {
class connector;

// Throws invalid_argument.
void check_listen(const std::vector<std::string>& channels, const listen_options& options);
generator<notification> listen(std::shared_ptr<const connector> server,
                               std::vector<std::string> channels, listen_options options);
}  // namespace detail

// The notifications on these channels, over a connection of its own, from the first next() on; the
// generator never ends without an error or a stop. The names are used unchanged, as pg_notify does,
// while NOTIFY without quotes makes them lower case. A lost connection is opened again, with
// retries without end, and the next notification is then marked `missed`; so is the first one. A
// slow reader slows no sender down: the server keeps the notifications.
//
// next() throws connection_error if the first connection fails, pg::error if the server refuses.
generator<notification> listen(const connect_options& options, std::string channel,
                               listen_options listening = {});
generator<notification> listen(const connect_options& options, std::vector<std::string> channels,
                               listen_options listening = {});

}  // namespace weir::pg
