// SPDX-License-Identifier: MIT
// A member of a hub, of any type: a pointer to the object and its functions.
#pragma once

#include <weir/ws/frame.hpp>
#include <weir/ws/posted.hpp>

#include <concepts>

namespace weir::ws {

// ws::connection is one. post() never waits. Without a room() the room is unlimited.
template <class T>
concept subscriber = requires(T& to, const frame& shared) {
    { to.post(shared) } -> std::same_as<posted>;
};

namespace detail {

struct subscriber_calls {
    posted (*post)(void* to, const frame& shared);
    outbox_room (*room)(void* to);
};

template <subscriber T>
inline constexpr subscriber_calls calls_of{
    [](void* to, const frame& shared) { return static_cast<T*>(to)->post(shared); },
    [](void* to) {
        if constexpr (requires(T& object) { object.room(); }) {
            return outbox_room(static_cast<T*>(to)->room());
        } else {
            static_cast<void>(to);
            return outbox_room();
        }
    }};

struct subscriber_ref {
    template <subscriber T>
    explicit subscriber_ref(T& referred) noexcept : to(&referred), calls(&calls_of<T>) {}
    posted post(const frame& shared) const { return calls->post(to, shared); }
    outbox_room room() const { return calls->room(to); }

    void* to;  // null: has left the topic
    const subscriber_calls* calls;
};

}  // namespace detail
}  // namespace weir::ws
