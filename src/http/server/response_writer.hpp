// SPDX-License-Identifier: MIT
// The writing side of a connection: a buffer that gathers small pieces, and the framing of streams.
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
class outgoing final : public body_writer {
public:
    outgoing(Stream& stream, clock::duration timeout) noexcept
        : stream_(stream), timeout_(timeout) {}

    // The client went away, is too slow, or a write was stopped: nothing more can be sent.
    bool has_failed() const noexcept { return has_failed_; }

    // What is to be sent next.
    std::string& text() noexcept { return text_; }
    task<> send() {
        check_unbroken();
        if (text_.empty()) {
            co_return;
        }
        const io::const_bytes all(text_);
        for (std::size_t sent = 0; sent < all.size();) {
            const std::size_t count = std::min(all.size() - sent, piece);
            has_failed_ = true;  // unless this ends well
            cancel_scope in_time(timeout_);
            const bool done = co_await in_time.run(stream_.write(all.after(sent).first(count)));
            if (!done) {
                throw_too_slow();
            }
            has_failed_ = false;
            sent += count;
        }
        text_.clear();
    }
    // Until the next request: an idle connection is to be small.
    void rest() noexcept {
        if (text_.capacity() > kept) {
            text_ = std::string();
        }
    }

    // A small text goes out with its head. False: the body is of another kind.
    bool gathers(const body& content) {
        if (content.is_stream() || content.text().size() > gathered) {
            return false;
        }
        text_.append(content.text());
        return true;
    }
    // A large one follows it, without a copy.
    task<> send_text(std::string_view content) { return send_along(content, {}); }

    // A streamed body.
    void begin(framing how, std::optional<std::uint64_t> size) noexcept {
        how_ = how;
        left_ = size.value_or(0);
        chunk_at_ = none;
    }
    task<> write(io::const_bytes data) override {
        if (data.empty()) {
            co_return;
        }
        if (how_ == framing::length) {
            if (data.size() > left_) {
                throw invalid_state("the body is longer than the size that was given for it");
            }
            left_ -= data.size();
        }
        if (data.size() >= gathered) {
            co_await write_large(data);
            co_return;
        }
        if (how_ == framing::chunked && chunk_at_ == none) {
            chunk_at_ = text_.size();
            text_.append("00000000\r\n");  // the size comes when it is known
        }
        text_.append(data.text());
        if (text_.size() >= gathered) {
            co_await flush();
        }
    }
    task<> flush() override {
        end_chunk();
        return send();
    }
    // The body is complete.
    void finish() {
        if (how_ == framing::length && left_ > 0) {
            throw invalid_state("the body is " + std::to_string(left_) +
                                " bytes shorter than the size that was given for it");
        }
        if (how_ == framing::chunked) {
            end_chunk();
            text_.append("0\r\n\r\n");
        }
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    static constexpr std::size_t gathered = 16 << 10;
    static constexpr std::size_t kept = 4 << 10;
    static constexpr std::size_t piece = 64 << 10;  // what the timeout is for

    [[noreturn]] static void throw_too_slow() {
        throw timed_out("the client took longer for a part of its answer than the server waits");
    }

    // A write that failed or was stopped may have sent a part: nobody would understand what follows
    // it.
    void check_unbroken() const {
        if (has_failed_) {
            throw io_error(EPIPE, "send behind a part of an answer that was broken off");
        }
    }

    void end_chunk() {
        if (chunk_at_ == none) {
            return;
        }
        constexpr std::size_t line = 10;
        std::size_t size = text_.size() - chunk_at_ - line;
        for (std::size_t i = 8; i-- > 0; size >>= 4) {
            text_[chunk_at_ + i] = "0123456789abcdef"[size & 15];
        }
        text_.append("\r\n");
        chunk_at_ = none;
    }

    task<> write_large(io::const_bytes data) {
        end_chunk();
        if (how_ != framing::chunked) {
            return send_along(data.text(), {});
        }
        std::array<char, 20> line;
        char* end = std::to_chars(line.data(), line.data() + 16, data.size(), 16).ptr;
        *end++ = '\r';
        *end++ = '\n';
        text_.append(line.data(), end);
        return send_along(data.text(), "\r\n");
    }

    // What was gathered, then the data without a copy; what follows waits for the next time.
    task<> send_along(std::string_view data, std::string_view after) {
        check_unbroken();
        for (std::size_t sent = 0; sent < data.size();) {
            const std::size_t count = std::min(data.size() - sent, piece);
            const std::array<io::const_bytes, 2> parts = {
                io::const_bytes(text_), io::const_bytes(data.substr(sent, count))};
            has_failed_ = true;
            cancel_scope in_time(timeout_);
            const bool done =
                co_await in_time.run(stream_.write(std::span<const io::const_bytes>(parts)));
            if (!done) {
                throw_too_slow();
            }
            has_failed_ = false;
            text_.clear();
            sent += count;
        }
        text_.append(after);
    }

    Stream& stream_;
    clock::duration timeout_;
    std::string text_;
    bool has_failed_ = false;
    framing how_ = framing::none;
    std::uint64_t left_ = 0;       // of a body with a size
    std::size_t chunk_at_ = none;  // where the open chunk begins
};

}  // namespace weir::http::detail
