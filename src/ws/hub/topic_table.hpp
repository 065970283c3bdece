// SPDX-License-Identifier: MIT
// The topics of a hub by name. A topic without members and messages is dropped at once; one with
// messages alone is idle, and the topic that has been idle longest goes when there are too many.
#pragma once

#include "ws/hub/message_store.hpp"
#include "ws/hub/topic.hpp"

#include <weir/base/intrusive_list.hpp>
#include <weir/flow/seeded_hash.hpp>
#include <weir/ws/hub.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weir::ws::detail {

class topic_table {
public:
    topic_table(const hub_options& limits, message_store& store);

    std::size_t size() const noexcept { return topics_.size(); }
    topic* find(std::string_view name) noexcept;
    // Throws limit_exceeded for a name that is too long, or if there are too many topics in use.
    topic& find_or_make(std::string_view name, hub_core& hub, hub_stats& stats);
    // The position that the next message of the topic will have, existing or not.
    position next_position(std::string_view name) noexcept;
    // A topic stays from pin() to unpin(), even without members and messages.
    void pin(topic& topic) noexcept;
    void unpin(topic& topic) noexcept;
    void drop_if_unused(topic& topic) noexcept;
    // Removes all members of all topics.
    void close_all() noexcept;

private:
    struct name_hash {
        using is_transparent = void;
        hash_seed seed;
        std::size_t operator()(std::string_view name) const noexcept {
            return seeded_hash<std::string>()(name, seed);
        }
    };

    // Neither 0 nor 1, which mean something else.
    std::uint64_t next_epoch() const noexcept { return epoch_ + 1 < 2 ? 2 : epoch_ + 1; }
    void make_room(std::string_view name);

    const hub_options limits_;
    message_store& store_;
    std::uint64_t epoch_;  // of the topic that was made last
    std::unordered_map<std::string, topic, name_hash, std::equal_to<>> topics_;
    weir::detail::intrusive_list<topic> idle_;  // the least recently used first
};

}  // namespace weir::ws::detail
