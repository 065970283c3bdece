// SPDX-License-Identifier: MIT
// The memory under buffered_reader and buffered_writer, for code that parses or formats in place:
// small while a connection is idle, large while there is traffic.
//
//     weir::io::read_buffer buffer({.capacity = 8192});
//     const weir::io::bytes room = buffer.prepare();
//     buffer.commit(room, co_await stream.read(room));
//     parse(buffer.text());                            // then buffer.take(used)
#pragma once

#include <weir/io/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace weir::io {

struct buffer_options {
    // How much is read ahead, or collected before it is written.
    std::size_t capacity = 16 << 10;
    // How much an empty reader keeps while it waits, and a writer that was flushed: the memory of
    // an idle connection. As large as the capacity: the buffer is never given back. 0: none at all,
    // for streams that can wait without a buffer (those with readable(), such as sockets); that
    // costs one more operation for each wait. Other streams then keep 256 bytes.
    std::size_t idle_capacity = 1 << 10;
};

// The common part of both directions. `owner` names the class in error messages.
class stream_buffer {
public:
    stream_buffer(const buffer_options& options, const char* owner);
    stream_buffer(stream_buffer&& other) noexcept
        : memory_(std::move(other.memory_)),
          size_(std::exchange(other.size_, 0)),
          begin_(std::exchange(other.begin_, 0)),
          end_(std::exchange(other.end_, 0)),
          options_(other.options_) {}
    stream_buffer& operator=(stream_buffer&&) = delete;

    std::string_view text() const noexcept {
        return {reinterpret_cast<const char*>(memory_.get()) + begin_, end_ - begin_};
    }
    bool empty() const noexcept { return begin_ == end_; }
    std::size_t size() const noexcept { return end_ - begin_; }
    std::size_t memory() const noexcept { return size_; }
    std::size_t capacity() const noexcept { return options_.capacity; }

protected:
    ~stream_buffer() = default;
    void reallocate(std::size_t size);

    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
    std::size_t begin_ = 0;  // of the content
    std::size_t end_ = 0;
    buffer_options options_;
};

class read_buffer : public stream_buffer {
public:
    explicit read_buffer(const buffer_options& options)
        : stream_buffer(options, "buffered_reader") {}

    // Is the buffer empty, and without memory while the stream is idle?
    bool waits_without_memory() const noexcept {
        return options_.idle_capacity == 0 && empty() && !expects_more_;
    }
    // The stream has data: the next prepare() makes room for it.
    void expect_more() noexcept { expects_more_ = true; }
    void release() noexcept;
    // Room for more data behind the content, at least one byte. Invalidates views of the buffer.
    bytes prepare();
    // `count` bytes were read into the room. Drops those that are to be skipped; returns how many
    // are left.
    std::size_t commit(bytes room, std::size_t count) noexcept;
    // Takes the first `count` bytes; the view is valid until prepare().
    std::string_view take(std::size_t count) noexcept {
        const std::string_view taken = text().substr(0, count);
        begin_ += count;
        return taken;
    }
    // Drops the next `count` bytes, also those that have not arrived yet. Returns how many bytes
    // are to be dropped in total, with those of earlier calls.
    std::uint64_t skip(std::uint64_t count) noexcept;
    std::uint64_t to_skip() const noexcept { return to_skip_; }
    // Stops skipping. Returns how many of `total` bytes were dropped.
    std::uint64_t forget_skip(std::uint64_t total) noexcept {
        return total - std::min(total, std::exchange(to_skip_, 0));
    }

private:
    std::uint64_t to_skip_ = 0;  // not 0: the buffer is empty
    bool expects_more_ = false;  // the last read filled all the room it had
};

class write_buffer : public stream_buffer {
public:
    explicit write_buffer(const buffer_options& options)
        : stream_buffer(options, "buffered_writer") {}
    write_buffer(write_buffer&&) noexcept = default;
    // Debug mode: reports content that was never written.
    ~write_buffer();

    bool has_room_for(std::size_t count) const noexcept {
        return count <= options_.capacity - size();
    }
    void append(const_bytes data);
    // The content has been written, or never will be.
    void clear() noexcept;
};

}  // namespace weir::io
