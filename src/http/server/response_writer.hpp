// SPDX-License-Identifier: MIT
// The sending side of a connection: collects small pieces in a buffer, and frames streams.
#pragma once

#include "http/server/response_head.hpp"

#include <weir/error.hpp>
#include <weir/http/body.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/error.hpp>
#include <weir/scope.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

namespace weir::http::detail {

template <io::byte_stream Stream>
class response_writer final : public body_writer {
public:
    response_writer(Stream& stream, clock::duration timeout) noexcept
        : stream_(stream), timeout_(timeout) {}

    // The client has gone, is too slow, or a write was stopped: nothing more can be sent.
    bool has_failed() const noexcept { return has_failed_; }

    // The buffer of what send() sends.
    std::string& buffer() noexcept { return buffer_; }
    task<> send() {
        check_not_failed();
        if (buffer_.empty()) {
            co_return;
        }
        const io::const_bytes all(buffer_);
        for (std::size_t sent = 0; sent < all.size();) {
            const std::size_t count = std::min(all.size() - sent, piece);
            has_failed_ = true;  // unless this write completes
            cancel_scope in_time(timeout_);
            const bool done = co_await in_time.run(stream_.write(all.after(sent).first(count)));
            if (!done) {
                throw_too_slow();
            }
            has_failed_ = false;
            sent += count;
        }
        buffer_.clear();
    }
    // Between requests: an idle connection keeps little memory.
    void release_memory() noexcept {
        if (buffer_.capacity() > kept_bytes) {
            buffer_ = std::string();
        }
    }

    // Puts a small text into the buffer, behind its head. False: the body is not a small text.
    bool append_small(const body& content) {
        if (content.is_stream() || content.text().size() > batch_bytes) {
            return false;
        }
        buffer_.append(content.text());
        return true;
    }
    // Sends a large text behind its head, without copying it.
    task<> send_text(std::string_view content) { return send_buffer_and(content, {}); }

    // Begins a streamed body.
    void begin(body_framing framing, std::optional<std::uint64_t> size) noexcept {
        framing_ = framing;
        remaining_ = size.value_or(0);
        chunk_at_ = none;
    }
    task<> write(io::const_bytes data) override {
        if (data.empty()) {
            co_return;
        }
        if (framing_ == body_framing::length) {
            if (data.size() > remaining_) {
                throw invalid_state("the body is longer than its declared size");
            }
            remaining_ -= data.size();
        }
        if (data.size() >= batch_bytes) {
            co_await write_large(data);
            co_return;
        }
        if (framing_ == body_framing::chunked && chunk_at_ == none) {
            chunk_at_ = buffer_.size();
            buffer_.append("00000000\r\n");  // end_chunk() fills in the size
        }
        buffer_.append(data.text());
        if (buffer_.size() >= batch_bytes) {
            co_await flush();
        }
    }
    task<> flush() override {
        end_chunk();
        return send();
    }
    // Ends the body.
    void finish() {
        if (framing_ == body_framing::length && remaining_ > 0) {
            throw invalid_state("the body is " + std::to_string(remaining_) +
                                " bytes shorter than its declared size");
        }
        if (framing_ == body_framing::chunked) {
            end_chunk();
            buffer_.append("0\r\n\r\n");
        }
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    static constexpr std::size_t batch_bytes = 16 << 10;
    static constexpr std::size_t kept_bytes = 4 << 10;
    static constexpr std::size_t piece = 64 << 10;  // each has the timeout for itself

    [[noreturn]] static void throw_too_slow() {
        throw timed_out("the client did not take a part of its response within the write_timeout");
    }

    // A write that failed or was stopped may have sent a part: the client could not make sense of
    // anything behind it.
    void check_not_failed() const {
        if (has_failed_) {
            throw io_error(EPIPE, "send after a write that failed or was stopped");
        }
    }

    void end_chunk() {
        if (chunk_at_ == none) {
            return;
        }
        constexpr std::size_t line = 10;
        std::size_t size = buffer_.size() - chunk_at_ - line;
        for (std::size_t i = 8; i-- > 0; size >>= 4) {
            buffer_[chunk_at_ + i] = "0123456789abcdef"[size & 15];
        }
        buffer_.append("\r\n");
        chunk_at_ = none;
    }

    task<> write_large(io::const_bytes data) {
        end_chunk();
        if (framing_ != body_framing::chunked) {
            return send_buffer_and(data.text(), {});
        }
        std::array<char, 20> line;
        char* end = std::to_chars(line.data(), line.data() + 16, data.size(), 16).ptr;
        *end++ = '\r';
        *end++ = '\n';
        buffer_.append(line.data(), end);
        return send_buffer_and(data.text(), "\r\n");
    }

    // Sends the buffered text, then the data without a copy; `after` stays in the buffer.
    task<> send_buffer_and(std::string_view data, std::string_view after) {
        check_not_failed();
        for (std::size_t sent = 0; sent < data.size();) {
            const std::size_t count = std::min(data.size() - sent, piece);
            const std::array<io::const_bytes, 2> parts = {
                io::const_bytes(buffer_), io::const_bytes(data.substr(sent, count))};
            has_failed_ = true;
            cancel_scope in_time(timeout_);
            const bool done =
                co_await in_time.run(stream_.write(std::span<const io::const_bytes>(parts)));
            if (!done) {
                throw_too_slow();
            }
            has_failed_ = false;
            buffer_.clear();
            sent += count;
        }
        buffer_.append(after);
    }

    Stream& stream_;
    clock::duration timeout_;
    std::string buffer_;
    bool has_failed_ = false;
    body_framing framing_ = body_framing::none;
    std::uint64_t remaining_ = 0;  // bytes of a body with a declared size
    std::size_t chunk_at_ = none;  // where the open chunk begins
};

}  // namespace weir::http::detail
