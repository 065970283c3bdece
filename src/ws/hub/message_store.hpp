// SPDX-License-Identifier: MIT
// The messages that a hub keeps for clients that come back. Each message is in the log of its topic
// and in one list of all messages by age. So the oldest message of the hub, which goes first, is
// always the oldest of its topic as well.
#pragma once

#include <weir/base/intrusive_list.hpp>
#include <weir/clock.hpp>
#include <weir/ws/frame.hpp>
#include <weir/ws/hub.hpp>

#include <cstddef>
#include <memory>

namespace weir::ws::detail {

class topic;
struct log_tag;
struct age_tag;

struct kept_message : weir::detail::list_link<log_tag>, weir::detail::list_link<age_tag> {
    frame message;
    detail::topic* topic = nullptr;
    clock::time_point since{};
};

// The newest messages of one topic, without gaps; the oldest first.
struct message_log {
    weir::detail::intrusive_list<kept_message, log_tag> messages;
    std::size_t count = 0;
    std::size_t bytes = 0;
};

class message_store {
public:
    explicit message_store(const hub_options& limits) noexcept : limits_(limits) {}
    message_store(const message_store&) = delete;
    message_store& operator=(const message_store&) = delete;
    ~message_store();

    // In two steps, since only the first can fail. make() gives null if nothing is kept.
    std::unique_ptr<kept_message> make(const frame& message);
    // Drops the oldest messages of the log that are beyond its limits.
    void add(message_log& log, std::unique_ptr<kept_message> made, topic& to,
             clock::time_point now) noexcept;
    // The log's oldest message, which must exist.
    void drop_oldest(message_log& log) noexcept;
    // All messages of the log that are too old.
    void drop_expired(message_log& log, clock::time_point now) noexcept;

    // The topic whose oldest message is to be dropped, because all messages together are too large
    // or because it is too old. Null if there is none.
    topic* over_limit() const noexcept;
    topic* expired(clock::time_point now) const noexcept;

    std::size_t count() const noexcept { return count_; }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    bool is_expired(const kept_message& message, clock::time_point now) const noexcept {
        return now - message.since >= limits_.keep_for;
    }

    const hub_options limits_;
    weir::detail::intrusive_list<kept_message, age_tag> all_;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    // In steady state one message goes for each that comes, so one spare node is enough.
    std::unique_ptr<kept_message> spare_;
};

}  // namespace weir::ws::detail
