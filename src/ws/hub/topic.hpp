// SPDX-License-Identifier: MIT
// A topic of a hub: its members, and the order in which they get its messages.
#pragma once

#include "ws/hub/message_store.hpp"

#include <weir/base/intrusive_list.hpp>
#include <weir/ws/hub.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::ws::detail {

class topic : public weir::detail::list_link<> {  // in the list of idle topics
public:
    topic(hub_core& hub, hub_stats& stats, std::uint64_t epoch) noexcept
        : hub_(hub), stats_(stats), epoch_(epoch) {}

    hub_core& hub() const noexcept { return hub_; }
    std::string_view name() const noexcept { return name_; }
    void set_name(std::string_view in_table) noexcept { name_ = in_table; }

    position newest() const noexcept { return {epoch_, last_}; }
    position next() const noexcept { return {epoch_, last_ + 1}; }
    // Of the message that is delivered now, or was last: those that wait have numbers already.
    position delivered() const noexcept { return {epoch_, last_ - waiting_count()}; }
    position take_number() noexcept { return {epoch_, ++last_}; }

    // Members. A membership knows its topic and its place there.
    void add(const subscriber_ref& to, membership& owner);
    void remove(const membership& owner) noexcept;
    void move(membership& to) noexcept;  // the membership with its place is another object now
    std::size_t member_count() const noexcept { return members_.size() - gaps_; }
    // A member that throws has refused the message.
    posted post(const subscriber_ref& to, const frame& message) const noexcept;

    // A delivery posts a message to the members that the topic has when it begins. Messages that
    // are published meanwhile wait, and are delivered by end_delivery().
    bool begin_delivery() noexcept;  // false if one is under way
    void deliver(const frame& message) noexcept;
    void deliver_later(const frame& message) { waiting_.push_back(message); }
    void end_delivery() noexcept;
    // Removes all members, for good.
    void close() noexcept;

    // For the table: a pinned topic is not dropped.
    void pin() noexcept { ++pins_; }
    void unpin() noexcept { --pins_; }
    bool is_in_use() const noexcept { return pins_ != 0 || member_count() != 0; }

    message_log log;  // the messages that the hub's store keeps

private:
    struct member {
        subscriber_ref to;  // refers to null: has left, and is a gap
        membership* owner;
    };

    std::size_t waiting_count() const noexcept { return waiting_.size() - waiting_begun_; }
    void remove_at(std::size_t index) noexcept;
    void close_gaps() noexcept;

    hub_core& hub_;
    hub_stats& stats_;
    std::string_view name_;
    std::uint64_t epoch_;
    std::uint64_t last_ = 0;  // the number of the newest message
    std::vector<member> members_;
    std::size_t gaps_ = 0;
    std::vector<frame> waiting_;
    std::size_t waiting_begun_ = 0;  // of waiting_, those whose delivery has begun
    unsigned pins_ = 0;
    bool is_delivering_ = false;
};

}  // namespace weir::ws::detail
