// SPDX-License-Identifier: MIT
// pg_servers: the servers that the URL of a store names, which of them is the primary, and what its
// connections have learnt about that. A failover makes another one the primary, on a higher
// timeline, which may lack the last transactions of the former one; the former one may come back
// and take writes, which nobody would ever see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// The history of tables: the database cluster, and its timeline, which each promotion raises.
struct pg_history {
    std::int64_t system = 0;     // 0: the server does not tell
    std::uint32_t timeline = 0;  // 0: the server does not tell

    bool is_known() const noexcept { return timeline != 0; }
    // Of a former primary, which has come back: the other one is its successor.
    bool is_before(const pg_history& other) const noexcept {
        return is_known() && system == other.system && timeline < other.timeline;
    }
    // Never 0 if it is known.
    std::int64_t number() const noexcept;

    friend bool operator==(const pg_history&, const pg_history&) = default;
};

// Used by several threads.
class pg_servers {
public:
    // The URL may name several hosts: postgres://one,two:5433/tasks
    explicit pg_servers(std::string_view url);
    pg_servers(const pg_servers&) = delete;
    pg_servers& operator=(const pg_servers&) = delete;

    std::size_t size() const noexcept { return urls_.size(); }
    const std::string& url(std::size_t index) const { return urls_.at(index); }
    // For messages: host and port.
    const std::string& name(std::size_t index) const { return names_.at(index); }

    // Connections that were made for a former generation are not used any more: one of them was
    // lost, or its server was not the primary.
    std::uint64_t generation() const;
    void lose(std::uint64_t generation);

    // The primary, if one was found in this generation.
    std::optional<std::size_t> primary() const;
    // The newest history of a primary.
    pg_history newest() const;
    // A connection has found this primary: its generation. Empty if another connection has found a
    // successor meanwhile.
    std::optional<std::uint64_t> accept(std::size_t index, const pg_history& found);

    // The tables note their history, so that what a new one demands is done once: see
    // pg_timeline.hpp. Until the tables exist, no history is to be noted.
    bool has_tables() const;
    void set_has_tables();
    bool is_noted(const pg_history& found) const;
    void set_noted(const pg_history& found);

private:
    std::vector<std::string> urls_;
    std::vector<std::string> names_;
    mutable std::mutex guard_;
    std::uint64_t generation_ = 1;
    std::optional<std::size_t> primary_;
    pg_history newest_;
    pg_history noted_;
    bool has_tables_ = false;
};

}  // namespace weir::service::detail
