// SPDX-License-Identifier: MIT
// The public face of the hub: its core is shared with the calls under way, so that a hub may be
// destroyed inside one; a membership is a place in a topic that tells the topic where it is.

#include "ws/hub/hub_core.hpp"

#include <weir/ws/hub.hpp>

#include <charconv>
#include <limits>

namespace weir::ws {

// ---- position
// ------------------------------------------------------------------------------------

namespace {

constexpr std::size_t epoch_digits = 16;

// All of it, and as to_chars writes it.
template <int Base>
bool read_number(std::string_view text, std::uint64_t& number) noexcept {
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number, Base);
    return error == std::errc() && at == end;
}

}  // namespace

std::string position::text() const {
    std::string made(epoch_digits, '0');
    constexpr std::string_view digits = "0123456789abcdef";
    std::uint64_t rest = epoch;
    for (std::size_t at = epoch_digits; at > 0; --at, rest >>= 4) {
        made[at - 1] = digits[rest & 15];
    }
    return made + "-" + std::to_string(number);
}

std::optional<position> position::parse(std::string_view token) noexcept {
    if (token.size() < epoch_digits + 2 || token[epoch_digits] != '-') {
        return std::nullopt;
    }
    position read;
    const std::string_view number = token.substr(epoch_digits + 1);
    const bool is_padded = number.size() > 1 && number.front() == '0';
    if (is_padded || !read_number<16>(token.substr(0, epoch_digits), read.epoch) ||
        !read_number<10>(number, read.number)) {
        return std::nullopt;
    }
    return read;
}

// ---- membership
// ----------------------------------------------------------------------------------

membership::membership(membership&& other) noexcept
    : topic_(std::exchange(other.topic_, nullptr)),
      index_(other.index_),
      caught_up_(other.caught_up_) {
    if (topic_ != nullptr) {
        topic_->members[index_].owner = this;
    }
}

membership& membership::operator=(membership&& other) noexcept {
    if (this != &other) {
        leave();
        topic_ = std::exchange(other.topic_, nullptr);
        index_ = other.index_;
        caught_up_ = other.caught_up_;
        if (topic_ != nullptr) {
            topic_->members[index_].owner = this;
        }
    }
    return *this;
}

void membership::leave() noexcept {
    if (topic_ != nullptr) {
        topic_->core->leave(*topic_, index_);
    }
}

// ---- hub
// -----------------------------------------------------------------------------------------

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
    return core_->next(topic);
}

membership hub::join_now(const detail::subscriber_ref& to, std::string_view topic) {
    membership made;
    core_->join(to, topic, made);
    return made;
}

membership hub::join_from(const detail::subscriber_ref& to, std::string_view topic,
                          const position& seen, greeting greet, void* greeter) {
    const auto core = core_;
    membership made;
    core->join(to, topic, seen, greet, greeter, made);
    return made;
}

position hub::position_of(std::string_view token) noexcept {
    if (token.empty()) {
        return {};
    }
    // What is no token is not known: no topic has that epoch.
    constexpr position nowhere{1, std::numeric_limits<std::uint64_t>::max()};
    return position::parse(token).value_or(nowhere);
}

position hub::at(std::string_view topic) const {
    const detail::topic* const found = core_->find(topic);
    return found != nullptr ? position{found->epoch, found->last} : position{};
}

std::size_t hub::members(std::string_view topic) const {
    const detail::topic* const found = core_->find(topic);
    return found != nullptr ? found->member_count() : 0;
}

hub_stats hub::stats() const {
    return core_->stats();
}

}  // namespace weir::ws
