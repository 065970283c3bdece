// SPDX-License-Identifier: MIT
// The topics of a hub, their members, and the rules of delivery.
#pragma once

#include "ws/hub/message_store.hpp"

#include <weir/flow/seeded_hash.hpp>
#include <weir/ws/hub.hpp>

#include <exception>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::ws::detail {

class hub_core;

// The name of a topic for messages: names come from clients.
std::string shown(std::string_view name);

struct member {
    subscriber_ref to;
    membership* owner;
};

struct topic {
    topic(hub_core& of, std::uint64_t in_epoch) noexcept : core(&of), epoch(in_epoch) {}

    // Of the message that is delivered now, or was last: those in `later` have numbers, and no
    // more.
    std::uint64_t current() const noexcept { return last - (later.size() - later_begun); }
    std::size_t member_count() const noexcept { return members.size() - holes; }

    hub_core* core;
    std::string_view name{};  // in the table
    std::uint64_t epoch;
    std::uint64_t last = 0;
    message_log log;
    std::vector<member> members;
    std::vector<frame> later;     // published while another was delivered
    std::size_t later_begun = 0;  // of these
    std::size_t holes = 0;        // members that left while one was delivered
    unsigned pins = 0;            // calls that refer to it
    bool is_delivering = false;
    // Among the topics without members, by their last use.
    bool is_idle = false;
    topic* idle_before = nullptr;
    topic* idle_after = nullptr;
};

class hub_core {
public:
    explicit hub_core(const hub_options& options);
    ~hub_core() { close(); }

    void join(const subscriber_ref& to, std::string_view name, membership& made);
    void join(const subscriber_ref& to, std::string_view name, const position& seen,
              frame (*greet)(void*, const catch_up&), void* greeter, membership& made);
    void leave(topic& from, std::size_t index) noexcept;
    // Where `at` is given, the message must become that one.
    position publish(std::string_view name, const frame& message, const position* at);
    position next(std::string_view name) const;
    // Ends all memberships.
    void close() noexcept;

    const topic* find(std::string_view name) const;
    hub_stats stats();

private:
    class use;  // of a topic by a call

    struct name_hash {
        using is_transparent = void;
        hash_seed seed;
        std::size_t operator()(std::string_view name) const noexcept {
            return seeded_hash<std::string>()(name, seed);
        }
    };
    struct replay {
        catch_up found;
        std::size_t bytes = 0;
        std::vector<frame> newest_first;  // shared with the log, which may change meanwhile
    };

    // Neither 0 nor 1, which mean something else.
    std::uint64_t next_epoch() const noexcept { return epoch_ + 1 < 2 ? 2 : epoch_ + 1; }
    topic& find_or_make(std::string_view name);
    void drop_if_unused(topic& asked) noexcept;
    void set_idle(topic& changed, bool idle) noexcept;
    void add_member(topic& to, const subscriber_ref& who, membership& made);
    void remove(topic& from, std::size_t index) noexcept;
    void close_holes(topic& in) noexcept;
    static replay plan(const topic& in, const position& seen, outbox_room room);
    static posted post(const topic& in, const subscriber_ref& to, const frame& message) noexcept;
    static void tell(const topic& in, const std::exception_ptr& error) noexcept;
    void deliver(topic& to, const frame& message) noexcept;
    void drop_message(topic& of) noexcept;
    void forget_old(clock::time_point now, std::size_t at_most) noexcept;

    hub_options options_;
    std::uint64_t epoch_;  // of the topic that was made last
    message_store store_;
    std::unordered_map<std::string, topic, name_hash, std::equal_to<>> topics_;
    topic* idle_oldest_ = nullptr;
    topic* idle_newest_ = nullptr;
    std::size_t members_ = 0;
    bool is_closed_ = false;  // the hub has gone, and a call is under way
    hub_stats counts_{};
};

}  // namespace weir::ws::detail
