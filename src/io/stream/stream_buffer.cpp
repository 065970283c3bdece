// SPDX-License-Identifier: MIT
// A reader's buffer has two usual sizes. It waits with the small one. A read that fills it shows
// that there is traffic, and the next read gets the large one. A read that leaves room shows that
// the stream is drained, and once all content is taken the buffer is small again. Content longer
// than the large size doubles the buffer as bytes arrive.

#include <weir/awaitable.hpp>
#include <weir/io/read.hpp>
#include <weir/io/stream_buffer.hpp>
#include <weir/loop.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

namespace weir::io {

stream_buffer::stream_buffer(const buffer_options& options, const char* owner) : options_(options) {
    if (options.capacity == 0) {
        detail::throw_bad_size(owner, "capacity", options.capacity, "at least 1");
    }
    options_.idle_capacity = std::min(options.idle_capacity, options.capacity);
}

void stream_buffer::reallocate(std::size_t size) {
    auto fresh = std::make_unique_for_overwrite<std::byte[]>(size);
    const std::size_t used = end_ - begin_;
    if (used > 0) {
        std::memcpy(fresh.get(), memory_.get() + begin_, used);
    }
    memory_ = std::move(fresh);
    size_ = size;
    begin_ = 0;
    end_ = used;
}

void read_buffer::release() noexcept {
    memory_.reset();
    size_ = 0;
    begin_ = 0;
    end_ = 0;
}

bytes read_buffer::prepare() {
    const std::size_t used = end_ - begin_;
    if (used == 0) {
        begin_ = 0;
        end_ = 0;
        const std::size_t idle = options_.idle_capacity != 0
                                     ? options_.idle_capacity
                                     : std::min<std::size_t>(options_.capacity, 256);
        const std::size_t usual = expects_more_ ? options_.capacity : idle;
        if (size_ != usual) {
            release();
            reallocate(usual);
        }
    } else if (end_ == size_ || (size_ < options_.capacity && expects_more_)) {
        if (size_ < options_.capacity) {
            reallocate(options_.capacity);
        } else if (used > size_ / 2) {
            reallocate(size_ * 2);
        } else {
            std::memmove(memory_.get(), memory_.get() + begin_, used);
            begin_ = 0;
            end_ = used;
        }
    }
    return {memory_.get() + end_, size_ - end_};
}

std::size_t read_buffer::commit(bytes room, std::size_t count) noexcept {
    expects_more_ = count == room.size();
    end_ += count;
    const auto dropped = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, count));
    to_skip_ -= dropped;
    begin_ += dropped;
    return count - dropped;
}

std::uint64_t read_buffer::skip(std::uint64_t count) noexcept {
    const std::uint64_t wanted = count < UINT64_MAX - to_skip_ ? to_skip_ + count : UINT64_MAX;
    const auto at_once = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, size()));
    begin_ += at_once;
    to_skip_ = wanted - at_once;
    return wanted;
}

write_buffer::~write_buffer() {
    loop* const here = loop::current_or_null();
    if (empty() || here == nullptr || !here->debug() || weir::detail::this_thread.is_discarding ||
        std::uncaught_exceptions() != 0) {
        return;
    }
    try {
        here->tell({.kind = report_kind::pending_destroyed,
                    .message = "buffered_writer: destroyed with " + std::to_string(size()) +
                               " bytes that were never flushed",
                    .error = nullptr,
                    .source = {},
                    .created = {}});
    } catch (...) {  // out of memory for the text
    }
}

void write_buffer::append(const_bytes data) {
    if (data.empty()) {
        return;
    }
    if (end_ + data.size() > size_) {
        reallocate(size() + data.size() <= options_.idle_capacity ? options_.idle_capacity
                                                                  : options_.capacity);
    }
    std::memcpy(memory_.get() + end_, data.data(), data.size());
    end_ += data.size();
}

void write_buffer::clear() noexcept {
    begin_ = 0;
    end_ = 0;
    if (size_ > options_.idle_capacity) {
        memory_.reset();
        size_ = 0;
    }
}

}  // namespace weir::io
