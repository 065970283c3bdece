// SPDX-License-Identifier: MIT
// The queue of frames to send, and the choice of those for the next write.
#pragma once

#include "ws/connection/ring.hpp"

#include <weir/io/buffer.hpp>
#include <weir/ws/connection.hpp>
#include <weir/ws/frame.hpp>
#include <weir/ws/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::ws::detail {

class outbox {
public:
    explicit outbox(const connection_options& limits) noexcept
        : max_bytes_(limits.outbox_bytes), max_messages_(limits.outbox_messages) {}

    bool has_room(std::size_t size) const noexcept {
        return waiting_.empty() ||
               (waiting_.size() < max_messages_ && waiting_bytes_ + size <= max_bytes_);
    }
    outbox_room room() const noexcept {
        return {max_messages_ - std::min(max_messages_, waiting_.size()),
                max_bytes_ - std::min(max_bytes_, waiting_bytes_)};
    }
    std::uint64_t dropped() const noexcept { return dropped_; }
    void push(frame last) {
        const std::size_t size = last.size();
        waiting_.push(std::move(last));
        waiting_bytes_ += size;
    }
    void drop_oldest() noexcept {
        waiting_bytes_ -= waiting_.pop().size();
        ++dropped_;
    }
    // Drops all queued frames except the close frame.
    void discard() noexcept;

    // Control frames go first, and only the last of each kind is kept: a peer that sends many pings
    // gets as many answers as it reads.
    void set_ping(frame ping) noexcept { ping_ = std::move(ping); }
    void set_pong(frame pong) noexcept { pong_ = std::move(pong); }
    // Sent after all other frames, as the last.
    void set_close(frame close) noexcept { close_ = std::move(close); }
    bool has_ping() const noexcept { return static_cast<bool>(ping_); }
    bool close_was_written() const noexcept { return close_was_written_; }

    // Chooses what to write next: all queued frames up to 64 KiB, or a part of a longer one. False:
    // the queue is empty. The parts are valid until written() reports them as written.
    bool next_batch();
    std::span<const io::const_bytes> parts() const noexcept { return parts_; }
    // Whether the batch is more than a socket usually takes at once.
    bool batch_is_large() const noexcept { return batch_size_ >= large; }
    void written() noexcept;

    void add_to(connection_stats& stats) const noexcept;

private:
    static constexpr std::size_t batch_bytes = 64 << 10;
    static constexpr std::size_t batch_frames = 1024;
    // More parts than that are copied together, which is cheaper for small frames.
    static constexpr std::size_t most_parts = 8;
    static constexpr std::size_t large = 4 << 10;

    void collect();
    void make_parts();

    ring<frame> waiting_;
    std::size_t waiting_bytes_ = 0;
    std::size_t max_bytes_;
    std::size_t max_messages_;
    frame ping_;
    frame pong_;
    frame close_;
    std::vector<frame> batch_;  // being written; the last frame may be written in part
    std::size_t batch_size_ = 0;
    std::size_t last_offset_ = 0;  // bytes of the last frame that have been, or are being, written
    std::vector<io::const_bytes> parts_;
    std::string joined_;
    std::uint64_t sent_ = 0;
    std::uint64_t bytes_sent_ = 0;
    std::uint64_t writes_ = 0;
    std::uint64_t dropped_ = 0;
    bool close_was_written_ = false;
};

}  // namespace weir::ws::detail
