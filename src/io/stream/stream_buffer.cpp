// SPDX-License-Identifier: MIT
// A reader's buffer has two usual sizes. It waits with the small one; a read that fills it shows
// that there is traffic, and the next one gets the large one; a read that leaves room shows that
// the stream has been emptied, and when all of it has been used the buffer is small again.
// Something longer than the large size makes it double as bytes arrive.

#include <weir/awaitable.hpp>
#include <weir/error.hpp>
#include <weir/io/detail/stream_buffer.hpp>
#include <weir/io/error.hpp>
#include <weir/io/read.hpp>
#include <weir/loop.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

namespace weir::io::detail {

namespace {

// A delimiter as a person reads it.
std::string quoted(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string shown = "'";
    for (const char each : text.substr(0, 32)) {
        const auto code = static_cast<unsigned char>(each);
        if (each == '\r') {
            shown += "\\r";
        } else if (each == '\n') {
            shown += "\\n";
        } else if (code < 0x20 || code >= 0x7f) {
            shown += {'\\', 'x', digits[code >> 4], digits[code & 15]};
        } else {
            shown += each;
        }
    }
    return shown + (text.size() > 32 ? "...'" : "'");
}

}  // namespace

void throw_in_use(const char* whose) {
    throw invalid_state(std::string(whose) +
                        ": another task is using it; one at a time may read, and one may write");
}

void throw_broken_writer() {
    throw invalid_state(
        "buffered_writer: an earlier write failed or was cancelled, and how much of it was sent is "
        "unknown; close the stream");
}

stream_buffer::stream_buffer(const buffer_options& options, const char* whose) : options_(options) {
    if (options.capacity == 0) {
        throw_bad_size(whose, "capacity", options.capacity, "at least 1");
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
        const std::size_t usual = more_is_near_ ? options_.capacity : idle;
        if (size_ != usual) {
            release();
            reallocate(usual);
        }
    } else if (end_ == size_ || (size_ < options_.capacity && more_is_near_)) {
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
    more_is_near_ = count == room.size();
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
    } catch (...) {  // no memory for the text
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

delimiter_search::delimiter_search(const char* call, std::string_view delimiter, std::size_t limit)
    : call_(call), delimiter_(delimiter), limit_(limit) {
    if (delimiter.empty()) {
        throw invalid_argument(std::string(call) + ": the delimiter is empty");
    }
}

std::size_t delimiter_search::find_in(std::string_view text) {
    const std::size_t at = text.find(delimiter_, searched_);
    if (at != std::string_view::npos) {
        if (at > limit_) {
            throw_exceeded();
        }
        return at;
    }
    searched_ = text.size() < delimiter_.size() ? 0 : text.size() - delimiter_.size() + 1;
    if (searched_ > limit_) {
        throw_exceeded();
    }
    return at;
}

void delimiter_search::throw_exceeded() const {
    throw limit_exceeded(std::string(call_) + ": no " + quoted(delimiter_) +
                         " within the limit of " + std::to_string(limit_) + " bytes");
}

void delimiter_search::throw_ended(std::size_t after) const {
    throw end_of_stream(std::string(call_) + ": the stream ended after " + std::to_string(after) +
                        " bytes, before " + quoted(delimiter_));
}

bool line_search::find_in(std::string_view text, found_line& found) {
    const std::size_t at = text.find('\n', searched_);
    std::size_t length = at;
    if (at == std::string_view::npos) {
        searched_ = text.size();
        length = text.size();
    }
    if (length > 0 && text[length - 1] == '\r') {
        --length;  // belongs to the line ending, or may turn out to
    }
    if (length > limit_) {
        throw limit_exceeded("read_line: no end of the line within the limit of " +
                             std::to_string(limit_) + " bytes");
    }
    found = {length, at + 1};
    return at != std::string_view::npos;
}

void line_search::throw_ended(std::size_t after) const {
    throw end_of_stream("read_line: the stream ended after " + std::to_string(after) +
                        " bytes of a line");
}

}  // namespace weir::io::detail
