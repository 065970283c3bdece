// SPDX-License-Identifier: MIT
// A broadcast hub: sends the messages of a topic to all its members, and replays missed messages to
// clients that come back.
//
//     weir::ws::hub feed;
//
//     weir::task<> follow(weir::ws::connection& peer) {
//         auto member = feed.join(peer, "prices", token);    // first what was missed, then live
//         co_await peer.wait_closed();
//     }                                                       // leaves
//
//     feed.publish("prices", [&](const weir::ws::position& at) {
//         return to_json(at.number, price);
//     });
//
// A message is made once; all members share the frame, and each has its own bounded outbox (see
// ws::connection). So publishing never waits, and a member that is slow, closed or throws does not
// delay the others. A closed member is removed. The newest messages of each topic, limited in
// number, bytes and age, are kept for clients that come back.
//
// A topic exists while it has members or kept messages. If there are too many topics, those without
// members are dropped, the least recently used first.
//
// Belongs to one loop. All functions may be called at any time, even by a member during a delivery:
// a client that joins then gets the message by replay or not at all, a member that leaves gets
// nothing more, and messages published to the same topic are delivered afterwards to all. A hub may
// be destroyed before its members; that ends their memberships.
//
// Cost of publish: the frame, and an indirect call and a post for each member; no other allocation.
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
    std::size_t max_topic_name = 256;  // bytes; names often come from clients
    // Messages kept for clients that come back: of each topic, and of all topics together. Each
    // message counts 128 bytes more than its size. keep_messages = 0: nothing is kept.
    std::size_t keep_messages = 1000;
    std::size_t keep_bytes = 1 << 20;
    std::size_t keep_total_bytes = 64 << 20;
    clock::duration keep_for = std::chrono::minutes(5);
};

struct hub_stats {
    std::size_t topics = 0;
    std::size_t members = 0;  // memberships; a client in two topics counts twice
    std::uint64_t published = 0;
    std::uint64_t delivered = 0;  // live messages posted to members
    std::uint64_t dropped = 0;    // of these, posts for which the outbox dropped older messages
    std::uint64_t replayed = 0;
    std::uint64_t missed = 0;   // messages reported as missed to clients that came back
    std::uint64_t removed = 0;  // members removed because they were closed or threw
    std::size_t kept_messages = 0;
    std::size_t kept_bytes = 0;
};

// A place in a topic; the destructor leaves the topic. Move-only. It refers to the connection,
// which must outlive it: declare it after the connection, or inside its handler.
class [[nodiscard]] membership {
public:
    membership() noexcept = default;
    membership(membership&& other) noexcept;
    membership& operator=(membership&& other) noexcept;
    ~membership() { leave(); }

    // Does nothing if the place was left already.
    void leave() noexcept;
    // False after leave(), if the connection was found closed, and after the end of the hub.
    bool is_member() const noexcept { return topic_ != nullptr; }
    // The result of join. The position since then is hub.at(topic).
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
    // Throws invalid_argument for invalid options.
    explicit hub(const hub_options& options = {});
    hub(const hub&) = delete;
    hub& operator=(const hub&) = delete;
    ~hub();

    // Joins for the messages from now on. Throws limit_exceeded if too many topics are in use or
    // the name is too long.
    template <subscriber To>
    membership join(To& to, std::string_view topic) {
        return join_now(detail::subscriber_ref(to), topic);
    }
    // Replays the kept messages after `seen`, then joins for live ones: no message comes twice, and
    // only those that caught_up() counts as missed are left out. position() is before the first
    // message: replays all kept ones. Messages that do not fit into the outbox, the oldest first,
    // count as missed too.
    template <subscriber To>
    membership join(To& to, std::string_view topic, const position& seen) {
        return join_from(detail::subscriber_ref(to), topic, seen, nullptr, nullptr);
    }
    // The position as text, as clients send it; "" is before the first message, and an invalid text
    // is an unknown position.
    template <subscriber To>
    membership join(To& to, std::string_view topic, std::string_view token) {
        return join(to, topic, position_of(token));
    }
    // Posts greet(const catch_up&), a text or a frame, before all else, so that the client knows
    // what to expect. It may be called several times, until greeting and replay fit into the
    // outbox.
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

    // Posts the message to all members, keeps it, and gives its position. Throws invalid_argument
    // for a text that is not UTF-8, and limit_exceeded as join does; then nothing has happened, and
    // no number is used.
    position publish(std::string_view topic, std::string_view text) {
        return publish(topic, frame::text(text));
    }
    position publish(std::string_view topic, const frame& message);
    // The same with the result of make(const position&), a text or a frame, for messages that
    // contain their number.
    template <class Make>
        requires std::invocable<Make&, const position&>
    position publish(std::string_view topic, Make&& make) {
        const position at = next(topic);
        return publish_at(at, topic, to_frame(make(at)));
    }

    // The position of the newest message. Epoch 0 if there is no such topic.
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

    std::shared_ptr<detail::hub_core> core_;  // shared with calls in flight
};

}  // namespace weir::ws
