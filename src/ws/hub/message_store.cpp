// SPDX-License-Identifier: MIT
// Two lists through the same nodes, their sizes, and the limits of both.

#include "ws/hub/message_store.hpp"

#include <utility>

namespace weir::ws::detail {

namespace {

// What a message counts for: its bytes, and about what it takes to keep it.
std::size_t cost(const frame& message) noexcept {
    return message.size() + 128;
}

}  // namespace

message_store::~message_store() {
    while (!all_.empty()) {
        delete &all_.pop_front();
    }
}

std::unique_ptr<kept_message> message_store::make(const frame& message) {
    if (limits_.keep_messages == 0) {
        return nullptr;
    }
    auto made = spare_ != nullptr ? std::move(spare_) : std::make_unique<kept_message>();
    made->message = message;
    return made;
}

void message_store::add(message_log& log, std::unique_ptr<kept_message> made, topic& to,
                        clock::time_point now) noexcept {
    kept_message& added = *made.release();
    added.topic = &to;
    added.since = now;
    log.messages.push_back(added);
    all_.push_back(added);
    const std::size_t bytes = cost(added.message);
    ++log.count;
    ++count_;
    log.bytes += bytes;
    bytes_ += bytes;
    while (log.count > limits_.keep_messages || log.bytes > limits_.keep_bytes) {
        drop_oldest(log);
    }
}

void message_store::drop_oldest(message_log& log) noexcept {
    std::unique_ptr<kept_message> gone(&log.messages.pop_front());
    all_.remove(*gone);
    const std::size_t bytes = cost(gone->message);
    --log.count;
    --count_;
    log.bytes -= bytes;
    bytes_ -= bytes;
    gone->message = frame();
    spare_ = std::move(gone);
}

void message_store::drop_expired(message_log& log, clock::time_point now) noexcept {
    while (log.count != 0 && is_expired(log.messages.front(), now)) {
        drop_oldest(log);
    }
}

topic* message_store::over_limit() const noexcept {
    return bytes_ > limits_.keep_total_bytes ? all_.front().topic : nullptr;
}

topic* message_store::expired(clock::time_point now) const noexcept {
    return !all_.empty() && is_expired(all_.front(), now) ? all_.front().topic : nullptr;
}

}  // namespace weir::ws::detail
