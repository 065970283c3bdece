// SPDX-License-Identifier: MIT
// What is behind a ws::hub: brings together topics, their members and the messages that are kept.
#pragma once

#include "ws/hub/message_store.hpp"
#include "ws/hub/topic.hpp"
#include "ws/hub/topic_table.hpp"

#include <weir/ws/hub.hpp>

#include <cstddef>
#include <string_view>

namespace weir::ws::detail {

class hub_core {
public:
    explicit hub_core(const hub_options& options);
    hub_core(const hub_core&) = delete;
    hub_core& operator=(const hub_core&) = delete;
    ~hub_core() { close(); }

    catch_up join(const subscriber_ref& to, std::string_view name, membership& made);
    catch_up join(const subscriber_ref& to, std::string_view name, const position& seen,
                  frame (*greet)(void*, const catch_up&), void* greeter, membership& made);
    void leave(topic& from, const membership& owner) noexcept;
    // If `expected` is given, the message must get that position.
    position publish(std::string_view name, const frame& message, const position* expected);
    position next_position(std::string_view name) noexcept { return topics_.next_position(name); }
    // Ends all memberships.
    void close() noexcept;

    const topic* find(std::string_view name) noexcept { return topics_.find(name); }
    hub_stats stats();

private:
    class pinned;
    class delivery;

    void drop_message(topic& from) noexcept;
    void drop_expired(clock::time_point now, std::size_t at_most) noexcept;

    message_store store_;
    topic_table topics_;
    bool is_closed_ = false;  // the hub has gone, and a call is under way
    hub_stats stats_{};
};

}  // namespace weir::ws::detail
