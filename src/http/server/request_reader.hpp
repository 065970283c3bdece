// SPDX-License-Identifier: MIT
// The receiving side of a connection: reads heads and bodies within the limits, and discards what
// is not wanted.
#pragma once

#include "http/server/request_parser.hpp"
#include "http/server/response_writer.hpp"

#include <weir/clock.hpp>
#include <weir/error.hpp>
#include <weir/http/body.hpp>
#include <weir/http/request.hpp>
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
class request_reader final : public body_reader {
public:
    request_reader(Stream& stream, response_writer<Stream>& writer, const server_options& options,
                   tcp::session& session)
        : stream_(stream),
          writer_(writer),
          options_(options),
          session_(session),
          parser_({.header_bytes = options.max_header_bytes,
                   .header_count = options.max_headers,
                   .body_bytes = options.max_body_bytes}),
          buffer_(io::buffer_options{}) {}

    // Reads the head of the next request. False: no request follows, since the client has ended the
    // connection or was idle for too long, or the server drains. Throws protocol_error.
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
                                         "the headers did not arrive within the header_timeout");
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
        if (is_broken_) {  // 0 would mean that the body is complete
            throw protocol_error(
                status::bad_request,
                "the rest of the body is lost: an earlier read failed or was stopped");
        }
        is_broken_ = true;  // unless this read completes
        for (;;) {
            if (!buffer_.empty()) {
                const body_progress progress = parser_.parse_body(buffer_.text(), into);
                buffer_.take(progress.used);
                if (progress.produced > 0 || parser_.is_body_done()) {
                    is_broken_ = false;
                    co_return progress.produced;
                }
            }
            if (expects_continue_) {
                expects_continue_ = false;
                co_await send_continue();
            }
            if (buffer_.empty() && parser_.direct_bytes() > 0) {
                const std::size_t most = static_cast<std::size_t>(
                    std::min<std::uint64_t>(into.size(), parser_.direct_bytes()));
                const std::size_t count = co_await receive(into.first(most));
                parser_.count_direct(count);
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

    bool is_client_connected() noexcept override {
        return stream_.peer_closure() == io::closure::none;
    }

    // The response begins: a client that waits for 100 Continue will not get it any more. Whether
    // it sends its body then is unknown, so this is the last request of the connection.
    void deny_continue() noexcept {
        is_last_ = is_last_ || std::exchange(expects_continue_, false);
    }

    // Whether another request can follow. After CONNECT none can: a proxy on the way would take a
    // success for the beginning of a tunnel.
    bool can_keep_alive() const noexcept {
        return !is_broken_ && !is_last_ && head_->keep_alive && head_->method != method::connect &&
               parser_.direct_bytes() <= max_skipped;
    }

    bool is_body_done() const noexcept { return parser_.is_body_done(); }
    // Discards the rest of the body. False: it is too long for that.
    task<bool> skip_body() {
        std::array<std::byte, 4096> discarded;
        std::size_t skipped = 0;
        try {
            while (!parser_.is_body_done()) {
                skipped += co_await read(discarded);
                if (is_broken_ || skipped > max_skipped) {
                    co_return false;
                }
            }
        } catch (const problem&) {
            co_return false;
        }
        co_return true;
    }

    // Before closing on a client that may still be sending: data sent to a closed socket would make
    // the client's system discard the response that the client has not read yet.
    task<> linger() {
        cancel_scope limit(std::chrono::seconds(2));
        auto end = [this]() -> task<> {
            co_await stream_.close_write();
            std::array<std::byte, 4096> discarded;
            for (std::size_t most = 1 << 20; most > 0;) {
                const std::size_t count = co_await stream_.read(discarded);
                if (count == 0) {
                    co_return;
                }
                most -= std::min(most, count);
            }
        };
        try {
            co_await limit.run(end());
        } catch (const std::exception&) {
            // the client has gone already
        }
    }

    std::string take_received() { return std::string(buffer_.take(buffer_.size())); }

private:
    static constexpr std::size_t max_skipped = 64 << 10;

    task<> send_continue() {
        writer_.buffer().append("HTTP/1.1 100 Continue\r\n\r\n");
        try {
            co_await writer_.send();
            co_return;
        } catch (const std::exception&) {
            // reported below: the handler did not fail
        }
        throw protocol_error(status::bad_request,
                             "the client disconnected before it sent its body");
    }

    // At least one byte. The time that a body may take grows with the bytes received.
    task<std::size_t> receive(io::bytes into) {
        const clock::time_point began = now();
        const clock::duration extra = std::min<clock::duration>(
            std::chrono::seconds(received_ / options_.min_body_rate), std::chrono::hours(24));
        cancel_scope limit(weir::detail::after(weir::detail::after(began, options_.body_timeout),
                                               extra - waited_));
        std::optional<std::size_t> count;
        try {
            count = co_await limit.run(stream_.read(into));
        } catch (const std::exception&) {
            count = 0;  // disconnected, or no TLS any more: the handler did not fail
        }
        if (!count.has_value()) {
            throw protocol_error(status::request_timeout,
                                 "the body did not arrive within the body_timeout");
        }
        if (*count == 0) {
            throw protocol_error(status::bad_request,
                                 "the client disconnected in the middle of the body");
        }
        waited_ += now() - began;
        received_ += *count;
        co_return *count;
    }

    Stream& stream_;
    response_writer<Stream>& writer_;
    const server_options& options_;
    tcp::session& session_;
    request_parser parser_;
    io::read_buffer buffer_;
    const request_head* head_ = nullptr;
    clock::duration waited_{};    // for this body
    std::uint64_t received_ = 0;  // bytes of this body
    bool is_first_ = true;
    bool is_last_ = false;
    bool is_broken_ = false;         // nothing more of the body can be read
    bool expects_continue_ = false;  // the client waits for 100 Continue
};

}  // namespace weir::http::detail
