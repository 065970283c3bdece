// SPDX-License-Identifier: MIT
// A batch is taken out of the queue when it is chosen, so that frames being written cannot be
// dropped. Frames are written without a copy; only many small ones are copied together, into a
// buffer that is released when the queue is empty.

#include "ws/connection/outbox.hpp"

#include <algorithm>

namespace weir::ws::detail {

namespace {

bool is_message(const frame& given) noexcept {
    return given.kind() == opcode::text || given.kind() == opcode::binary;
}

}  // namespace

void outbox::discard() noexcept {
    dropped_ += waiting_.size();
    waiting_.clear();
    waiting_bytes_ = 0;
    ping_ = {};
    pong_ = {};
}

bool outbox::next_batch() {
    if (batch_.empty()) {
        collect();
        if (batch_.empty()) {
            joined_ = {};
            return false;
        }
        last_offset_ = 0;
        make_parts();
    } else {
        // The rest of a long frame.
        const io::const_bytes rest = batch_.back().wire().after(last_offset_);
        const std::size_t count = std::min(rest.size(), batch_bytes);
        parts_.assign(1, rest.first(count));
        last_offset_ += count;
    }
    return true;
}

void outbox::collect() {
    if (close_was_written_) {
        return;
    }
    std::size_t bytes = 0;
    const auto add = [&](frame&& next) {
        bytes += next.size();
        batch_.push_back(std::move(next));
    };
    if (ping_) {
        add(std::exchange(ping_, {}));
    }
    if (pong_) {
        add(std::exchange(pong_, {}));
    }
    while (!waiting_.empty() && bytes < batch_bytes && batch_.size() < batch_frames) {
        waiting_bytes_ -= waiting_.front().size();
        add(waiting_.pop());
    }
    if (close_ && waiting_.empty()) {
        add(std::exchange(close_, {}));
    }
    batch_size_ = bytes;
}

void outbox::make_parts() {
    parts_.clear();
    const frame& last = batch_.back();
    const std::size_t before = batch_size_ - last.size();
    // At least a part of the last frame, so that there is always progress.
    last_offset_ =
        std::min(last.size(), std::max(batch_bytes - std::min(before, batch_bytes), large));
    if (batch_.size() <= most_parts) {
        for (const frame& each : batch_) {
            parts_.push_back(each.wire());
        }
        parts_.back() = parts_.back().first(last_offset_);
        return;
    }
    joined_.clear();
    joined_.reserve(before + large);
    const bool last_apart = last.size() > large;
    for (std::size_t at = 0; at < batch_.size() - (last_apart ? 1 : 0); ++at) {
        joined_.append(batch_[at].wire().text());
    }
    parts_.push_back(joined_);
    if (last_apart) {
        parts_.push_back(last.wire().first(last_offset_));
    }
}

void outbox::written() noexcept {
    ++writes_;
    for (const io::const_bytes part : parts_) {
        bytes_sent_ += part.size();
        batch_size_ -= part.size();
    }
    parts_.clear();
    const bool is_whole = last_offset_ == batch_.back().size();
    const std::size_t whole = batch_.size() - (is_whole ? 0 : 1);
    for (std::size_t at = 0; at < whole; ++at) {
        sent_ += is_message(batch_[at]) ? 1 : 0;
        close_was_written_ = close_was_written_ || batch_[at].kind() == opcode::close;
    }
    batch_.erase(batch_.begin(), batch_.begin() + static_cast<std::ptrdiff_t>(whole));
}

void outbox::add_to(connection_stats& stats) const noexcept {
    stats.sent = sent_;
    stats.bytes_sent = bytes_sent_;
    stats.writes = writes_;
    stats.dropped = dropped_;
    stats.queued_messages = waiting_.size() + batch_.size();
    stats.queued_bytes = waiting_bytes_ + batch_size_;
}

}  // namespace weir::ws::detail
