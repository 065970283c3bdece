// SPDX-License-Identifier: MIT
// The reading side of a connection: heads, bodies, and what is to be thrown away; all within the
// limits.
#pragma once

#include "http/server/outgoing.hpp"
#include "http/server/request_parser.hpp"

#include <weir/clock.hpp>
#include <weir/error.hpp>
#include <weir/http/body.hpp>
#include <weir/http/detail/request_head.hpp>
#include <weir/http/server.hpp>
#include <weir/io/error.hpp>
#include <weir/io/stream_buffer.hpp>
#include <weir/io/tls_error.hpp>
#include <weir/scope.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace weir::http::detail {

template <io::byte_stream Stream>
class incoming final : public body_reader {
public:
    incoming(Stream& stream, outgoing<Stream>& answers, const server_options& options,
             tcp::session& session)
        : stream_(stream),
          answers_(answers),
          options_(options),
          session_(session),
          parser_({.header_bytes = options.max_header_bytes,
                   .header_count = options.max_headers,
                   .body_bytes = options.max_body_bytes}),
          buffer_(io::buffer_options{}) {}

    // The head of the next request. False: there will be none, since the client has ended, was idle
    // for too long, or the server drains. Throws protocol_error.
    task<bool> next_head(request_head& into) {
        parser_.reset();
        head_ = &into;
        is_broken_ = false;
        expects_continue_ = false;
        waited_ = {};
        received_ = 0;
        std::optional<clock::time_point> limit;
        if (is_first_) {
            limit = weir::detail::after(now(), options_.header_timeout);
        }
        for (;;) {
            if (!buffer_.empty()) {
                const std::size_t size = parser_.parse_head(buffer_.text(), into);
                if (size > 0) {
                    buffer_.take(size);
                    expects_continue_ = into.expects_continue;
                    is_first_ = false;
                    co_return true;
                }
                if (!limit.has_value()) {
                    limit = weir::detail::after(now(), options_.header_timeout);
                }
            }
            std::optional<std::size_t> count;
            const io::bytes room = buffer_.prepare();
            if (buffer_.empty()) {
                const clock::time_point end =
                    limit.value_or(weir::detail::after(now(), options_.idle_timeout));
                count = co_await session_.idle(stream_.read(room), end);
            } else {
                cancel_scope in_time(*limit);
                count = co_await in_time.run(stream_.read(room));
                if (!count.has_value()) {
                    throw protocol_error(status::request_timeout,
                                         "the headers took longer than the server waits");
                }
            }
            buffer_.commit(room, count.value_or(0));
            if (count.value_or(0) == 0) {
                co_return false;
            }
        }
    }

    task<std::size_t> read(io::bytes into) override {
        if (into.empty() || parser_.is_body_done()) {
            co_return 0;
        }
        if (is_broken_) {  // 0 would say that the body is whole
            throw protocol_error(status::bad_request,
                                 "the rest of the body is lost: reading it was broken off");
        }
        is_broken_ = true;  // unless this ends well
        for (;;) {
            if (!buffer_.empty()) {
                const body_progress step = parser_.parse_body(buffer_.text(), into);
                buffer_.take(step.used);
                if (step.produced > 0 || parser_.is_body_done()) {
                    is_broken_ = false;
                    co_return step.produced;
                }
            }
            if (expects_continue_) {
                expects_continue_ = false;
                co_await say_continue();
            }
            if (buffer_.empty() && parser_.direct_bytes() > 0) {
                const std::size_t most = static_cast<std::size_t>(
                    std::min<std::uint64_t>(into.size(), parser_.direct_bytes()));
                const std::size_t count = co_await receive(into.first(most));
                parser_.took_directly(count);
                is_broken_ = false;
                co_return count;
            }
            const io::bytes room = buffer_.prepare();
            const std::size_t count = co_await receive(room);
            buffer_.commit(room, count);
        }
    }

    void limit(std::uint64_t bytes) override {
        try {
            parser_.set_body_limit(std::min(bytes, options_.max_body_bytes));
        } catch (...) {
            is_broken_ = true;
            throw;
        }
    }

    // The answer begins: a client that waits for 100 Continue will not get it any more. It may send
    // its body or not, so that this was its last request.
    void deny_continue() noexcept {
        is_last_ = is_last_ || std::exchange(expects_continue_, false);
    }

    // Whether there can be another request behind this one. Behind CONNECT there is none: for a
    // proxy on the way, a success would make all that follows a tunnel.
    bool can_go_on() const noexcept {
        return !is_broken_ && !is_last_ && head_->keep_alive && head_->method != method::connect &&
               parser_.direct_bytes() <= most_to_skip;
    }

    bool is_body_done() const noexcept { return parser_.is_body_done(); }
    // Drops the rest of the body, if it is not too long; false if it is.
    task<bool> skip_body() {
        std::array<std::byte, 4096> nowhere;
        std::size_t skipped = 0;
        try {
            while (!parser_.is_body_done()) {
                skipped += co_await read(nowhere);
                if (is_broken_ || skipped > most_to_skip) {
                    co_return false;
                }
            }
        } catch (const problem&) {
            co_return false;
        }
        co_return true;
    }

    // Before closing on a client that may still be sending: what it sends to a closed socket would
    // make its system throw away the answer that it has not read yet.
    task<> linger() {
        cancel_scope limit(std::chrono::seconds(2));
        auto end = [this]() -> task<> {
            co_await stream_.close_write();
            std::array<std::byte, 4096> nowhere;
            for (std::size_t most = 1 << 20; most > 0;) {
                const std::size_t count = co_await stream_.read(nowhere);
                if (count == 0) {
                    co_return;
                }
                most -= std::min(most, count);
            }
        };
        try {
            co_await limit.run(end());
        } catch (const std::exception&) {
            // gone already
        }
    }

    std::string take_received() { return std::string(buffer_.take(buffer_.size())); }

private:
    static constexpr std::size_t most_to_skip = 64 << 10;

    task<> say_continue() {
        answers_.text().append("HTTP/1.1 100 Continue\r\n\r\n");
        try {
            co_await answers_.send();
            co_return;
        } catch (const std::exception&) {
            // no failure of the handler's
        }
        throw protocol_error(status::bad_request, "the client went away before it sent its body");
    }

    // At least a byte. The time that a body may take grows with what has come of it.
    task<std::size_t> receive(io::bytes into) {
        const clock::time_point began = now();
        const clock::duration earned = std::min<clock::duration>(
            std::chrono::seconds(received_ / options_.min_body_rate), std::chrono::hours(24));
        cancel_scope limit(weir::detail::after(weir::detail::after(began, options_.body_timeout),
                                               earned - waited_));
        std::optional<std::size_t> count;
        try {
            count = co_await limit.run(stream_.read(into));
        } catch (const std::exception&) {
            count = 0;  // it went away, or does not speak TLS any more: no failure of the handler's
        }
        if (!count.has_value()) {
            throw protocol_error(status::request_timeout,
                                 "the body took longer than the server waits");
        }
        if (*count == 0) {
            throw protocol_error(status::bad_request,
                                 "the client ended in the middle of its request's body");
        }
        waited_ += now() - began;
        received_ += *count;
        co_return *count;
    }

    Stream& stream_;
    outgoing<Stream>& answers_;
    const server_options& options_;
    tcp::session& session_;
    request_parser parser_;
    io::read_buffer buffer_;
    const request_head* head_ = nullptr;
    clock::duration waited_{};    // for the body
    std::uint64_t received_ = 0;  // of it
    bool is_first_ = true;
    bool is_last_ = false;
    bool is_broken_ = false;         // nothing more can be read
    bool expects_continue_ = false;  // and has not got it
};

}  // namespace weir::http::detail
