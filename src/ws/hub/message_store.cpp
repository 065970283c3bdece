// SPDX-License-Identifier: MIT
// Two lists through the same nodes, and sums.

#include "ws/hub/message_store.hpp"

#include <utility>

namespace weir::ws::detail {

message_store::~message_store() {
    while (all_.oldest != nullptr) {
        delete std::exchange(all_.oldest, all_.oldest->in_store.newer);
    }
}

std::unique_ptr<kept_message> message_store::make(const frame& message) {
    auto made = spare_ != nullptr ? std::move(spare_) : std::make_unique<kept_message>();
    made->message = message;
    return made;
}

void message_store::add(message_log& log, std::unique_ptr<kept_message> made, topic& of,
                        clock::time_point now) noexcept {
    kept_message& added = *made.release();
    added.of = &of;
    added.since = now;
    log.messages.push(added);
    all_.push(added);
    const std::size_t bytes = cost(added.message);
    ++log.count;
    ++count_;
    log.bytes += bytes;
    bytes_ += bytes;
}

void message_store::drop_oldest(message_log& log) noexcept {
    std::unique_ptr<kept_message> gone(log.messages.oldest);
    log.messages.remove(*gone);
    all_.remove(*gone);
    const std::size_t bytes = cost(gone->message);
    --log.count;
    --count_;
    log.bytes -= bytes;
    bytes_ -= bytes;
    gone->message = frame();
    spare_ = std::move(gone);
}

}  // namespace weir::ws::detail
