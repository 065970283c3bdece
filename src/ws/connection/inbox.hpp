// SPDX-License-Identifier: MIT
// Messages that the peer sent and the handler has not taken yet. The handler waits while the inbox
// is empty; the reader waits while it is full, so that the peer is held back.
#pragma once

#include "ws/connection/ring.hpp"

#include <weir/sync/event.hpp>
#include <weir/ws/message.hpp>
#include <weir/ws/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace weir::ws::detail {

class inbox {
public:
    explicit inbox(const connection_options& limits) noexcept
        : max_messages_(limits.inbox_messages), max_bytes_(limits.max_message) {}

    bool empty() const noexcept { return messages_.empty(); }
    bool is_full() const noexcept {
        return messages_.size() >= max_messages_ || bytes_ >= max_bytes_;
    }
    std::uint64_t received() const noexcept { return received_; }

    // For the reader. It calls continue_reading() after each wait for room.
    void push(message last) {
        ++received_;
        bytes_ += last.size();
        messages_.push(std::move(last));
        arrival_.set();
    }
    auto wait_for_room() noexcept {
        is_reader_waiting_ = true;
        room_.clear();
        return room_.wait();
    }
    void continue_reading() noexcept { is_reader_waiting_ = false; }
    bool is_reader_waiting() const noexcept { return is_reader_waiting_; }
    void wake_reader() { room_.set(); }

    // For the handler, which takes with a `waiting` object around each wait for an arrival.
    std::optional<message> try_take() {
        was_used_ = true;
        if (messages_.empty()) {
            return std::nullopt;
        }
        message first = messages_.pop();
        bytes_ -= first.size();
        if (is_reader_waiting_) {
            room_.set();
        }
        return first;
    }
    class waiting {
    public:
        explicit waiting(inbox& in) noexcept : in_(in) { ++in_.waiting_; }
        waiting(const waiting&) = delete;
        waiting& operator=(const waiting&) = delete;
        ~waiting() { --in_.waiting_; }

    private:
        inbox& in_;
    };
    auto wait_for_arrival() noexcept {
        arrival_.clear();
        return arrival_.wait();
    }
    void wake_handler() { arrival_.set(); }
    // The handler takes messages, and is at work on one instead of waiting for the next.
    bool is_handler_busy() const noexcept { return was_used_ && waiting_ == 0; }

private:
    ring<message> messages_;
    std::size_t bytes_ = 0;
    std::size_t max_messages_;
    std::size_t max_bytes_;
    std::uint64_t received_ = 0;
    std::size_t waiting_ = 0;  // fibers in receive()
    event arrival_;
    event room_;
    bool was_used_ = false;
    bool is_reader_waiting_ = false;
};

}  // namespace weir::ws::detail
