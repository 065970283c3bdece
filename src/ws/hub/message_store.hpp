// SPDX-License-Identifier: MIT
// What a hub keeps for those who come back: each message is in the log of its topic and, with those
// of all others, in one line by age. So what is too old, or too much for the hub, is at the front
// of that line, and always the oldest of its topic as well.
#pragma once

#include <weir/clock.hpp>
#include <weir/ws/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weir::ws::detail {

struct topic;
struct kept_message;

struct message_link {
    kept_message* older = nullptr;
    kept_message* newer = nullptr;
};

struct kept_message {
    frame message;
    topic* of = nullptr;
    clock::time_point since{};
    message_link in_topic;
    message_link in_store;
};

// A list through one of the two links, oldest first.
template <message_link kept_message::* Link>
struct message_list {
    kept_message* oldest = nullptr;
    kept_message* newest = nullptr;

    void push(kept_message& added) noexcept {
        (added.*Link) = {newest, nullptr};
        (newest != nullptr ? (newest->*Link).newer : oldest) = &added;
        newest = &added;
    }
    void remove(kept_message& gone) noexcept {
        const message_link at = gone.*Link;
        (at.older != nullptr ? (at.older->*Link).newer : oldest) = at.newer;
        (at.newer != nullptr ? (at.newer->*Link).older : newest) = at.older;
    }
};

// The newest messages of one topic, without gaps.
struct message_log {
    message_list<&kept_message::in_topic> messages;
    std::size_t count = 0;
    std::size_t bytes = 0;
};

class message_store {
public:
    message_store() noexcept = default;
    message_store(const message_store&) = delete;
    message_store& operator=(const message_store&) = delete;
    ~message_store();

    // What a message costs: its bytes, and what it takes to keep it.
    static std::size_t cost(const frame& message) noexcept { return message.size() + 128; }

    // In two steps, since only the first can fail.
    std::unique_ptr<kept_message> make(const frame& message);
    void add(message_log& log, std::unique_ptr<kept_message> made, topic& of,
             clock::time_point now) noexcept;
    // The log's oldest; it has one.
    void drop_oldest(message_log& log) noexcept;

    // Of all; null if there is none.
    const kept_message* oldest() const noexcept { return all_.oldest; }
    std::size_t count() const noexcept { return count_; }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    message_list<&kept_message::in_store> all_;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    // In steady state one goes for each that comes, so one is enough.
    std::unique_ptr<kept_message> spare_;
};

}  // namespace weir::ws::detail
