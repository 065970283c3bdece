// SPDX-License-Identifier: MIT
// The public face of the hub. Calls share its core, so that a hub may be destroyed inside a call. A
// membership is a place in a topic, and tells the topic when it moves.

#include "ws/hub/hub_core.hpp"

#include <weir/ws/hub.hpp>

#include <limits>
#include <utility>

namespace weir::ws {

membership::membership(membership&& other) noexcept
    : topic_(std::exchange(other.topic_, nullptr)),
      index_(other.index_),
      caught_up_(other.caught_up_) {
    if (topic_ != nullptr) {
        topic_->move(*this);
    }
}

membership& membership::operator=(membership&& other) noexcept {
    if (this != &other) {
        leave();
        topic_ = std::exchange(other.topic_, nullptr);
        index_ = other.index_;
        caught_up_ = other.caught_up_;
        if (topic_ != nullptr) {
            topic_->move(*this);
        }
    }
    return *this;
}

void membership::leave() noexcept {
    if (topic_ != nullptr) {
        topic_->hub().leave(*topic_, *this);
    }
}

hub::hub(const hub_options& options) : core_(std::make_shared<detail::hub_core>(options)) {}

hub::~hub() {
    core_->close();
}

position hub::publish(std::string_view topic, const frame& message) {
    const auto core = core_;
    return core->publish(topic, message, nullptr);
}

position hub::publish_at(const position& at, std::string_view topic, const frame& message) {
    const auto core = core_;
    return core->publish(topic, message, &at);
}

position hub::next(std::string_view topic) const {
    return core_->next_position(topic);
}

membership hub::join_now(const detail::subscriber_ref& to, std::string_view topic) {
    membership made;
    made.caught_up_ = core_->join(to, topic, made);
    return made;
}

membership hub::join_from(const detail::subscriber_ref& to, std::string_view topic,
                          const position& seen, greeting greet, void* greeter) {
    const auto core = core_;
    membership made;
    made.caught_up_ = core->join(to, topic, seen, greet, greeter, made);
    return made;
}

position hub::position_of(std::string_view token) noexcept {
    if (token.empty()) {
        return {};
    }
    // An invalid token is an unknown position: no topic has that epoch.
    constexpr position unknown{1, std::numeric_limits<std::uint64_t>::max()};
    return position::parse(token).value_or(unknown);
}

position hub::at(std::string_view topic) const {
    const detail::topic* const found = core_->find(topic);
    return found != nullptr ? found->newest() : position{};
}

std::size_t hub::members(std::string_view topic) const {
    const detail::topic* const found = core_->find(topic);
    return found != nullptr ? found->member_count() : 0;
}

hub_stats hub::stats() const {
    return core_->stats();
}

}  // namespace weir::ws
