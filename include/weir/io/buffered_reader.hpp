// SPDX-License-Identifier: MIT
// Reads by lines, delimiters and lengths, from any stream.
//
//     weir::io::buffered_reader reader(peer);                // refers to it; std::move: owns it
//     while (auto line = co_await reader.read_line(8192)) {  // a view, valid until the next call
//         ...
//     }
//
// A timeout or a cancellation loses no data: a call takes its bytes out of the buffer only when all
// have arrived, and a later call finds those that arrived before. After an error, too, earlier data
// can still be read. The buffer also holds data beyond the end of a call's bytes, so read the
// stream only through its reader.
//
// Views are valid until the next call. One task at a time; the reader can be moved while no call is
// in flight. A call costs a task frame from the pool; buffered data is not copied. Memory is
// allocated at the first read, grows with the data that arrives, never with what a peer announces,
// and shrinks when the buffer is empty; see buffer_options.
#pragma once

#include <weir/io/detail/stream_search.hpp>
#include <weir/io/read.hpp>
#include <weir/io/stream_buffer.hpp>

#include <cstring>
#include <optional>

namespace weir::io {

// How read_line handles a last line without a line ending. Protocols refuse it, since the
// connection may have been cut; use accept for text written by people.
enum class unterminated_line : unsigned char { refuse, accept };

// Stream is a byte_source, or a reference to one.
template <class Stream>
    requires byte_source<std::remove_reference_t<Stream>>
class buffered_reader {
public:
    // Throws invalid_argument for a capacity of 0.
    explicit buffered_reader(Stream&& stream, const buffer_options& options = {})
        : stream_(std::forward<Stream>(stream)), buffer_(options) {}
    buffered_reader(buffered_reader&&) noexcept = default;
    buffered_reader& operator=(buffered_reader&&) = delete;

    // Buffered data, else the data of one read of the stream; 0 at its end. Reads as large as the
    // capacity go straight into the caller's memory.
    task<std::size_t> read(bytes into) {
        const detail::exclusive_use use(in_use_, name);
        if (buffer_.empty() && !into.empty()) {
            if (into.size() >= buffer_.capacity() && buffer_.to_skip() == 0) {
                co_return co_await stream_.read(into);
            }
            co_await more();
        }
        const std::string_view taken = buffer_.take(std::min(into.size(), buffer_.size()));
        if (!taken.empty()) {
            std::memcpy(into.data(), taken.data(), taken.size());
        }
        co_return taken.size();
    }

    // Exactly `count` bytes. Throws end_of_stream if the stream ends first; its data stays
    // buffered.
    task<std::string_view> read_exact(std::size_t count) {
        const detail::exclusive_use use(in_use_, name);
        while (buffer_.size() < count) {
            const std::size_t came = co_await more();
            if (came == 0) {
                detail::throw_ended_early("read_exact", buffer_.size(), count);
            }
        }
        co_return buffer_.take(count);
    }
    // The same, copied.
    task<void> read_exact(bytes into) {
        const std::string_view taken = co_await read_exact(into.size());
        if (!taken.empty()) {
            std::memcpy(into.data(), taken.data(), taken.size());
        }
    }

    // Takes the text up to the next delimiter and the delimiter; read_until returns the text,
    // read_through both. Empty if the stream has ended; throws end_of_stream if it ends before the
    // delimiter, limit_exceeded if more than `limit` bytes precede the delimiter: the data stays
    // buffered. The delimiter is not copied.
    task<std::optional<std::string_view>> read_until(std::string_view delimiter,
                                                     std::size_t limit) {
        return find("read_until", delimiter, limit, 0);
    }
    task<std::optional<std::string_view>> read_through(std::string_view delimiter,
                                                       std::size_t limit) {
        return find("read_through", delimiter, limit, delimiter.size());
    }

    // The next line, without its '\n' or '\r\n', of at most `limit` bytes. Otherwise as read_until.
    task<std::optional<std::string_view>> read_line(
        std::size_t limit, unterminated_line last = unterminated_line::refuse) {
        const detail::exclusive_use use(in_use_, name);
        detail::line_search search(limit);
        for (;;) {
            detail::found_line line{};
            if (search.find_in(buffer_.text(), line)) {
                co_return buffer_.take(line.with_ending).substr(0, line.length);
            }
            const std::size_t came = co_await more();
            if (came == 0 && buffer_.empty()) {
                co_return std::nullopt;
            }
            if (came == 0 && last == unterminated_line::accept) {
                co_return buffer_.take(buffer_.size());
            }
            if (came == 0) {
                search.throw_ended(buffer_.size());
            }
        }
    }

    // Waits until `count` bytes are buffered, or the stream has ended. Returns them; takes none.
    task<std::string_view> peek(std::size_t count) {
        const detail::exclusive_use use(in_use_, name);
        while (buffer_.size() < count) {
            const std::size_t came = co_await more();
            if (came == 0) {
                break;
            }
        }
        co_return buffer_.text().substr(0, count);
    }

    // Drops the next `count` bytes without growing the buffer. If it is cancelled, later reads drop
    // the rest. Throws end_of_stream if there are fewer.
    task<void> skip(std::uint64_t count) {
        const detail::exclusive_use use(in_use_, name);
        const std::uint64_t wanted = buffer_.skip(count);
        while (buffer_.to_skip() > 0) {
            const bytes room = buffer_.prepare();
            const std::size_t came = co_await stream_.read(room);
            buffer_.commit(room, came);
            if (came == 0) {
                detail::throw_ended_early("skip", buffer_.forget_skip(wanted), wanted);
            }
        }
    }

    // For parsers: buffered() is the buffered data; fill() reads more behind it and returns how
    // many bytes arrived, 0 at the end; consume() takes `count` of the buffered bytes.
    std::string_view buffered() const noexcept { return buffer_.text(); }
    task<std::size_t> fill() {
        const detail::exclusive_use use(in_use_, name);
        co_return co_await more();
    }
    void consume(std::size_t count) {
        const detail::exclusive_use use(in_use_, name);
        if (count > buffer_.size()) {
            detail::throw_bad_size("buffered_reader: consume", "count", count,
                                   "at most the number of buffered bytes");
        }
        buffer_.take(count);
    }

    std::remove_reference_t<Stream>& stream() noexcept { return stream_; }
    // The size of the buffer now.
    std::size_t memory() const noexcept { return buffer_.memory(); }

private:
    static constexpr const char* name = "buffered_reader";

    // Reads at least one byte that is not skipped; 0 at the end.
    task<std::size_t> more() {
        for (;;) {
            if constexpr (requires { stream_.readable(); }) {
                if (buffer_.waits_without_memory()) {
                    buffer_.release();
                    co_await stream_.readable();
                    buffer_.expect_more();
                }
            }
            const bytes room = buffer_.prepare();
            const std::size_t count = co_await stream_.read(room);
            const std::size_t kept = buffer_.commit(room, count);
            if (count == 0 || kept > 0) {
                co_return kept;
            }
        }
    }

    task<std::optional<std::string_view>> find(const char* call, std::string_view delimiter,
                                               std::size_t limit, std::size_t included) {
        const detail::exclusive_use use(in_use_, name);
        detail::delimiter_search search(call, delimiter, limit);
        for (;;) {
            const std::size_t at = search.find_in(buffer_.text());
            if (at != std::string_view::npos) {
                co_return buffer_.take(at + delimiter.size()).substr(0, at + included);
            }
            const std::size_t came = co_await more();
            if (came == 0 && buffer_.empty()) {
                co_return std::nullopt;
            }
            if (came == 0) {
                search.throw_ended(buffer_.size());
            }
        }
    }

    Stream stream_;
    read_buffer buffer_;
    bool in_use_ = false;
};

template <class Stream>
buffered_reader(Stream&&) -> buffered_reader<Stream>;
template <class Stream>
buffered_reader(Stream&&, const buffer_options&) -> buffered_reader<Stream>;

}  // namespace weir::io
