// SPDX-License-Identifier: MIT
// Collects small writes into large ones.
//
//     weir::io::buffered_writer writer(peer);         // a reference; std::move(peer): owns it
//     co_await writer.write("HTTP/1.1 200 OK\r\n");
//     co_await writer.write(body);                    // does not fit: is sent at once
//     co_await writer.flush();
//
// A write that fits into the buffer never waits and never fails. A larger one is passed on without
// being copied, after the buffered data, as one vectored write.
//
// The destructor discards data that was not flushed: it cannot wait, and an unfinished message is
// best not sent. Debug mode reports that, except during a stop or an exception. After a write that
// failed or was cancelled it is unknown how much was sent: every later call throws invalid_state.
// One task at a time; the writer can be moved while no call is in flight.
#pragma once

#include <weir/io/detail/stream_search.hpp>
#include <weir/io/read.hpp>
#include <weir/io/stream_buffer.hpp>

#include <array>
#include <vector>

namespace weir::io {

// Stream is a byte_sink, or a reference to one.
template <class Stream>
    requires byte_sink<std::remove_reference_t<Stream>>
class buffered_writer {
public:
    // Throws invalid_argument for a capacity of 0.
    explicit buffered_writer(Stream&& stream, const buffer_options& options = {})
        : stream_(std::forward<Stream>(stream)), buffer_(options) {}
    buffered_writer(buffered_writer&&) noexcept = default;
    buffered_writer& operator=(buffered_writer&&) = delete;

    task<void> write(const_bytes data) {
        const detail::exclusive_use use(in_use_, name);
        check();
        if (buffer_.has_room_for(data.size())) {
            buffer_.append(data);
            co_return;
        }
        const std::array<const_bytes, 2> both{const_bytes(buffer_.text()), data};
        co_await pass_on(both);
    }
    // Several parts as one: all are buffered, or all are passed on.
    task<void> write(std::span<const const_bytes> parts) {
        const detail::exclusive_use use(in_use_, name);
        check();
        std::size_t total = 0;
        for (const const_bytes& each : parts) {
            total += each.size();
        }
        if (buffer_.has_room_for(total)) {
            for (const const_bytes& each : parts) {
                buffer_.append(each);
            }
            co_return;
        }
        std::vector<const_bytes> all;
        all.reserve(parts.size() + 1);
        all.push_back(const_bytes(buffer_.text()));
        all.insert(all.end(), parts.begin(), parts.end());
        co_await pass_on(all);
    }

    // Returns when everything has been handed to the stream.
    task<void> flush() {
        const detail::exclusive_use use(in_use_, name);
        check();
        if (!buffer_.empty()) {
            const std::array<const_bytes, 1> all{const_bytes(buffer_.text())};
            co_await pass_on(all);
        }
    }
    // Flushes and ends our direction of the stream.
    task<void> close_write()
        requires requires(std::remove_reference_t<Stream>& stream) { stream.close_write(); }
    {
        co_await flush();
        co_await stream_.close_write();
    }
    // Drops unflushed data. No effect while another task writes: the stream has the data then.
    void discard() noexcept {
        if (!in_use_) {
            buffer_.clear();
        }
    }

    std::size_t unflushed() const noexcept { return buffer_.size(); }
    std::remove_reference_t<Stream>& stream() noexcept { return stream_; }
    // The size of the buffer now.
    std::size_t memory() const noexcept { return buffer_.memory(); }

private:
    static constexpr const char* name = "buffered_writer";

    void check() const {
        if (is_broken_) [[unlikely]] {
            detail::throw_broken_writer();
        }
    }
    task<void> pass_on(std::span<const const_bytes> all) {
        unsent_on_exit failed(*this);
        co_await stream_.write(all);
        failed.happened = false;
        buffer_.clear();
    }
    // Unless the write succeeds, the buffered data must not be sent again.
    struct unsent_on_exit {
        explicit unsent_on_exit(buffered_writer& owner) noexcept : writer(owner) {}
        unsent_on_exit(const unsent_on_exit&) = delete;
        unsent_on_exit& operator=(const unsent_on_exit&) = delete;
        ~unsent_on_exit() {
            if (happened) {
                writer.is_broken_ = true;
                writer.buffer_.clear();
            }
        }
        buffered_writer& writer;
        bool happened = true;
    };

    Stream stream_;
    write_buffer buffer_;
    bool in_use_ = false;
    bool is_broken_ = false;
};

template <class Stream>
buffered_writer(Stream&&) -> buffered_writer<Stream>;
template <class Stream>
buffered_writer(Stream&&, const buffer_options&) -> buffered_writer<Stream>;

}  // namespace weir::io
