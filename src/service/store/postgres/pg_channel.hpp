// SPDX-License-Identifier: MIT
// pg_channel: the messages between nodes, by NOTIFY. One connection listens, and does nothing else,
// so that it is always read; another sends, outside of all writes.
#pragma once

#include "service/store/postgres/pg_link.hpp"

#include <weir/clock.hpp>
#include <weir/db/pg/connection.hpp>
#include <weir/service/node_channel.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class pg_channel final : public node_channel {
public:
    // The name is a secret of the schema: whoever may connect to a database may listen to all
    // channels of it whose names it knows.
    pg_channel(const pg_settings& settings, std::string name)
        : settings_(settings), name_(std::move(name)) {}

    task<> listen(receiver& to) override;
    task<bool> send(std::vector<std::string> messages) override;
    // Closes the connection that sends. Otherwise it lasts as long as listen(), whose loop it uses.
    void close() noexcept { sender_.reset(); }

private:
    class listening;

    task<> open_sender();
    task<> hear(receiver& to, clock::duration& pause);
    task<> send_all(const std::vector<std::string>& messages);
    // Whether another session may serve each transaction, so that nothing is heard.
    task<bool> is_pooled();

    const pg_settings& settings_;
    std::string name_;
    std::optional<pg::connection> sender_;
    bool is_listening_ = false;
};

}  // namespace weir::service::detail
