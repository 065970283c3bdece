// SPDX-License-Identifier: MIT
// The memory under buffered_reader and buffered_writer: small while little happens, gone or large
// as traffic asks.
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
    // What is read ahead, or gathered before it is written.
    std::size_t capacity = 16 << 10;
    // What a reader that has nothing keeps while it waits, and a writer that has been flushed: a
    // connection that is idle takes this much. As large as the capacity: the buffer is never given
    // back. 0: none at all, for streams that can wait without one (those with readable(), as
    // sockets have); that costs an operation more for each wait, and 256 bytes where it cannot be
    // done.
    std::size_t idle_capacity = 1 << 10;
};

namespace detail {

[[noreturn]] void throw_in_use(const char* whose);
[[noreturn]] void throw_broken_writer();

// One task at a time: another that comes meanwhile gets an invalid_state.
class exclusive_use {
public:
    exclusive_use(bool& in_use, const char* whose) : in_use_(in_use) {
        if (in_use) [[unlikely]] {
            throw_in_use(whose);
        }
        in_use_ = true;
    }
    exclusive_use(const exclusive_use&) = delete;
    exclusive_use& operator=(const exclusive_use&) = delete;
    ~exclusive_use() { in_use_ = false; }

private:
    bool& in_use_;
};

class stream_buffer {
public:
    stream_buffer(const buffer_options& options, const char* whose);
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
    std::size_t begin_ = 0;  // of what is in it
    std::size_t end_ = 0;
    buffer_options options_;
};

class read_buffer : public stream_buffer {
public:
    explicit read_buffer(const buffer_options& options)
        : stream_buffer(options, "buffered_reader") {}

    // Is it empty, and to be without memory while it waits?
    bool waits_without_memory() const noexcept {
        return options_.idle_capacity == 0 && empty() && !more_is_near_;
    }
    // There is something to read: the next prepare() is for that.
    void expect_more() noexcept { more_is_near_ = true; }
    void release() noexcept;
    // Room for more behind what is there, at least a byte. Views of the buffer end here.
    bytes prepare();
    // So many bytes came into that room. Those that are to be skipped go; gives how many are left.
    std::size_t commit(bytes room, std::size_t count) noexcept;
    // Takes the first bytes; the view is valid until prepare().
    std::string_view take(std::size_t count) noexcept {
        const std::string_view taken = text().substr(0, count);
        begin_ += count;
        return taken;
    }
    // The next so many bytes are dropped, also those that have not come yet. Gives how many that
    // are, with what was left to be skipped before.
    std::uint64_t skip(std::uint64_t count) noexcept;
    std::uint64_t to_skip() const noexcept { return to_skip_; }
    // Skips no more; gives how many of the last so many were dropped.
    std::uint64_t forget_skip(std::uint64_t of) noexcept {
        return of - std::min(of, std::exchange(to_skip_, 0));
    }

private:
    std::uint64_t to_skip_ = 0;  // not 0: the buffer is empty
    bool more_is_near_ = false;  // the last read filled all the room it had
};

class write_buffer : public stream_buffer {
public:
    explicit write_buffer(const buffer_options& options)
        : stream_buffer(options, "buffered_writer") {}
    write_buffer(write_buffer&&) noexcept = default;
    // Debug mode: reports what is still in it.
    ~write_buffer();

    bool has_room_for(std::size_t count) const noexcept {
        return count <= options_.capacity - size();
    }
    void append(const_bytes data);
    // It has been written, or never will be.
    void clear() noexcept;
};

// Looks for the delimiter in what is buffered.
class delimiter_search {
public:
    // Throws invalid_argument if the delimiter is empty.
    delimiter_search(const char* call, std::string_view delimiter, std::size_t limit);
    // Where it is, or npos. Throws limit_exceeded when there are more than `limit` bytes before it.
    std::size_t find_in(std::string_view text);
    [[noreturn]] void throw_ended(std::size_t after) const;

private:
    [[noreturn]] void throw_exceeded() const;

    const char* call_;
    std::string_view delimiter_;
    std::size_t limit_;
    std::size_t searched_ = 0;  // no delimiter begins before
};

// The end of a line in the text, without its '\n' or '\r\n'; npos if there is none. Throws
// limit_exceeded when the line is longer than the limit.
struct found_line {
    std::size_t length;
    std::size_t with_ending;
};
class line_search {
public:
    explicit line_search(std::size_t limit) noexcept : limit_(limit) {}
    bool find_in(std::string_view text, found_line& found);
    [[noreturn]] void throw_ended(std::size_t after) const;

private:
    std::size_t limit_;
    std::size_t searched_ = 0;
};

}  // namespace detail
}  // namespace weir::io
