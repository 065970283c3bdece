// SPDX-License-Identifier: MIT
// A broadcast hub: what is published to a topic goes to all its members, and those who were away
// get what they missed.
//
//     weir::ws::hub feed;
//
//     weir::task<> attend(weir::ws::connection& peer) {
//         auto member = feed.join(peer, "prices", token);    // first what was missed, then live
//         co_await peer.wait_closed();
//     }                                                       // leaves
//
//     feed.publish("prices", [&](const weir::ws::position& at) { return to_json(at.number, price); });
//
// A message is made once; its members share the frame, and each has its own bounded outbox (see
// ws::connection). So publishing never waits, and a member that is slow, closed or throws delays
// nobody. One that is closed is taken off the list. The newest messages of each topic are kept,
// bounded in number, bytes and age, for those who come back.
//
// A topic exists while it has members or kept messages. When there are too many, those without
// members go, the least recently used first.
//
// Belongs to one loop. Anything may be called at any time, also while a message is being delivered:
// who joins then has it replayed or not at all, who leaves gets nothing more, and what is published
// to the same topic comes after it, for all. May go before its members, whose memberships have then
// ended.
//
// Cost of publish: the frame, and for each member an indirect call and a post; no allocation
// besides.
#pragma once

#include <weir/clock.hpp>
#include <weir/ws/detail/subscriber.hpp>
#include <weir/ws/frame.hpp>
#include <weir/ws/position.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace weir::ws {

namespace detail {
class hub_core;
class topic;
}  // namespace detail

struct hub_options {
    std::size_t max_topics = 10'000;
    std::size_t max_topic_name = 256;  // bytes: names often come from clients
    // What is kept for those who come back; of each topic, and of all. A message counts with 128
    // bytes besides its own. 0 messages: nothing is kept.
    std::size_t keep_messages = 1000;
    std::size_t keep_bytes = 1 << 20;
    std::size_t keep_total_bytes = 64 << 20;
    clock::duration keep_for = std::chrono::minutes(5);
};

struct hub_stats {
    std::size_t topics = 0;
    std::size_t members = 0;  // memberships: a client in two topics counts twice
    std::uint64_t published = 0;
    std::uint64_t delivered = 0;  // posts of live messages that were taken
    std::uint64_t dropped = 0;    // of these, posts for which an outbox dropped older ones
    std::uint64_t replayed = 0;
    std::uint64_t missed = 0;   // what those who came back were told is gone
    std::uint64_t removed = 0;  // members that were closed, or threw
    std::size_t kept_messages = 0;
    std::size_t kept_bytes = 0;
};

// A place in a topic, left when this is destroyed. Move-only. It refers to the connection, which
// must outlive it: declare it after the connection, or inside its handler.
class [[nodiscard]] membership {
public:
    membership() noexcept = default;
    membership(membership&& other) noexcept;
    membership& operator=(membership&& other) noexcept;
    ~membership() { leave(); }

    // Harmless when it has left.
    void leave() noexcept;
    // False after leave(), when the connection was found closed, and when the hub has gone.
    bool is_member() const noexcept { return topic_ != nullptr; }
    // What join did. How far it has come since is hub.at(topic).
    const catch_up& caught_up() const noexcept { return caught_up_; }

private:
    friend class detail::topic;
    friend class hub;

    detail::topic* topic_ = nullptr;
    std::size_t index_ = 0;
    catch_up caught_up_{};
};

class hub {
public:
    // Throws invalid_argument for options that make no sense, loop_error outside a loop.
    explicit hub(const hub_options& options = {});
    hub(const hub&) = delete;
    hub& operator=(const hub&) = delete;
    ~hub();

    // From now on. Throws limit_exceeded when there are too many topics in use or the name is too
    // long.
    template <subscriber To>
    membership join(To& to, std::string_view topic) {
        return join_now(detail::subscriber_ref(to), topic);
    }
    // First what is kept and has come after `seen`, then live; no message twice, and none left out
    // but those that caught_up() counts as missed. position() is before the first: all that is
    // kept. What does not fit into the outbox counts as missed too, the older ones first.
    template <subscriber To>
    membership join(To& to, std::string_view topic, const position& seen) {
        return join_from(detail::subscriber_ref(to), topic, seen, nullptr, nullptr);
    }
    // The position as text, as clients send it; "" is before the first, and nonsense is not known.
    template <subscriber To>
    membership join(To& to, std::string_view topic, std::string_view token) {
        return join(to, topic, position_of(token));
    }
    // And posts greet(const catch_up&), a text or a frame, before everything else: so the client
    // knows what to expect. It may be called several times, until greeting and replay fit together.
    template <subscriber To, class Greet>
        requires std::invocable<Greet&, const catch_up&>
    membership join(To& to, std::string_view topic, const position& seen, Greet&& greet) {
        return join_from(
            detail::subscriber_ref(to), topic, seen,
            [](void* made_by, const catch_up& found) {
                return to_frame((*static_cast<std::remove_reference_t<Greet>*>(made_by))(found));
            },
            const_cast<void*>(static_cast<const void*>(std::addressof(greet))));
    }
    template <subscriber To, class Greet>
        requires std::invocable<Greet&, const catch_up&>
    membership join(To& to, std::string_view topic, std::string_view token, Greet&& greet) {
        return join(to, topic, position_of(token), std::forward<Greet>(greet));
    }

    // Gives it to all members and keeps it; its position. Throws invalid_argument for a text that
    // is no UTF-8, limit_exceeded as join does; then nothing has happened, and the number is not
    // used up.
    position publish(std::string_view topic, std::string_view text) {
        return publish(topic, frame::text(text));
    }
    position publish(std::string_view topic, const frame& message);
    // The same with make(const position&), a text or a frame: for messages that contain their
    // number.
    template <class Make>
        requires std::invocable<Make&, const position&>
    position publish(std::string_view topic, Make&& make) {
        const position at = next(topic);
        return publish_at(at, topic, to_frame(make(at)));
    }

    // Of the newest message. Epoch 0 where there is no such topic.
    position at(std::string_view topic) const;
    std::size_t members(std::string_view topic) const;
    hub_stats stats() const;

private:
    using greeting = frame (*)(void* made_by, const catch_up& found);
    static frame to_frame(const frame& made) { return made; }
    static frame to_frame(std::string_view made) { return frame::text(made); }
    static position position_of(std::string_view token) noexcept;
    position next(std::string_view topic) const;
    position publish_at(const position& at, std::string_view topic, const frame& message);
    membership join_now(const detail::subscriber_ref& to, std::string_view topic);
    membership join_from(const detail::subscriber_ref& to, std::string_view topic,
                         const position& seen, greeting greet, void* greeter);

    std::shared_ptr<detail::hub_core> core_;  // shared with its own calls that are under way
};

}  // namespace weir::ws
