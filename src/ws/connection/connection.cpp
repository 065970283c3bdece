// SPDX-License-Identifier: MIT
// The outside of a connection: checks what it is given, and starts and ends what is behind it.

#include "ws/connection/connection_core.hpp"
#include "base/utf8.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/flow/bad_option.hpp>
#include <weir/group.hpp>
#include <weir/ws/connection.hpp>
#include <weir/ws/serve.hpp>

#include <algorithm>
#include <exception>

namespace weir::ws {

namespace {

void check_text(io::const_bytes text) {
    if (!base::is_utf8(text.text())) {
        throw invalid_argument("ws: a text of " + std::to_string(text.size()) +
                               " bytes is no UTF-8: send it as binary");
    }
}

void check_close(close_code code, std::string_view reason) {
    if (!may_be_sent(code)) {
        throw invalid_argument("ws: the close code is " + std::to_string(number_of(code)) +
                               "; it must be one of RFC 6455 that may be sent, or 3000 to 4999");
    }
    if (reason.size() > 123 || !base::is_utf8(reason)) {
        throw invalid_argument("ws: a close reason of " + std::to_string(reason.size()) +
                               " bytes; it must be UTF-8 of at most 123");
    }
}

void check_positive(const char* option, std::size_t value) {
    if (value == 0) {
        weir::detail::throw_bad_option("ws", option, 0, "at least 1");
    }
}

void check_positive(const char* option, clock::duration value) {
    if (value <= clock::duration::zero()) {
        weir::detail::throw_bad_option("ws", option, value, "longer than 0");
    }
}

}  // namespace

void check(const connection_options& options) {
    check_positive("max_message", options.max_message);
    check_positive("max_frames", options.max_frames);
    check_positive("inbox_messages", options.inbox_messages);
    check_positive("outbox_bytes", options.outbox_bytes);
    check_positive("outbox_messages", options.outbox_messages);
    if (options.ping_interval < clock::duration::zero()) {
        weir::detail::throw_bad_option("ws", "ping_interval", options.ping_interval,
                                       "a time, or 0 for no pings");
    }
    check_positive("ping_timeout", options.ping_timeout);
    check_positive("write_timeout", options.write_timeout);
    check_positive("close_timeout", options.close_timeout);
}

task<std::optional<message>> connection::receive() {
    return core_->receive();
}

generator<message> connection::messages() {
    for (;;) {
        std::optional<message> next = co_await core_->receive();
        if (!next) {
            co_return;
        }
        co_yield moved(*next);
    }
}

task<> connection::send(std::string_view text) {
    check_text(text);
    return core_->send(core_->make(detail::opcode::text, text));
}

task<> connection::send_binary(io::const_bytes data) {
    return core_->send(core_->make(detail::opcode::binary, data));
}

task<> connection::send(frame ready) {
    if (!ready) {
        throw invalid_argument("ws: an empty frame cannot be sent");
    }
    return core_->send(core_->own(std::move(ready)));
}

bool connection::try_send(std::string_view text) {
    check_text(text);
    return core_->try_send(core_->make(detail::opcode::text, text));
}

bool connection::try_send_binary(io::const_bytes data) {
    return core_->try_send(core_->make(detail::opcode::binary, data));
}

posted connection::post(const frame& shared) noexcept {
    return core_->post(shared);
}

outbox_room connection::room() const noexcept {
    return core_->room();
}

task<> connection::close(close_code code, std::string_view reason) {
    check_close(code, reason);
    return core_->close(core_->make_close(code, reason));
}

task<> connection::wait_closed() {
    return core_->wait_closed();
}

task<clock::duration> connection::ping() {
    return core_->ping();
}

bool connection::is_open() const noexcept {
    return core_->can_send();
}

std::optional<close_code> connection::code() const noexcept {
    return core_->ended() ? std::optional(core_->ended()->code) : std::nullopt;
}

std::string_view connection::reason() const noexcept {
    return core_->ended() ? std::string_view(core_->ended()->reason) : std::string_view();
}

std::string_view connection::protocol() const noexcept {
    return core_->protocol();
}

connection_stats connection::stats() const noexcept {
    return core_->stats();
}

namespace detail {

task<> run_connection(established begun, handler_function handler, connection_options options) {
    connection_core core(std::move(begun), options);
    connection peer(core);
    std::exception_ptr error;
    auto close = [&core](ending how) -> task<> { return core.shut_down(how); };
    auto body = [&](task_group& group) -> task<> {
        group.spawn(core.read(), {.name = "ws reader"});
        group.spawn(core.write(), {.name = "ws writer"});
        group.spawn(core.watch(), {.name = "ws watch"});
        try {
            co_await finally(handler(peer), close);
        } catch (...) {
            error = std::current_exception();  // as it is: a group would wrap it
        }
        group.cancel();
    };
    co_await with_group(body);
    if (error != nullptr) {
        std::rethrow_exception(error);
    }
}

namespace {

// ws::closed, or a group of nothing else: from several tasks of a handler.
bool is_closed(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const closed&) {
        return true;
    } catch (const error_group& several) {
        return std::all_of(several.errors().begin(), several.errors().end(), is_closed);
    } catch (...) {
        return false;
    }
}

}  // namespace

task<> serve(established begun, handler_function handler, connection_options options) {
    task<> running = run_connection(std::move(begun), std::move(handler), options);
    const outcome<> ended = co_await settle(std::move(running));
    if (ended.has_error() && is_closed(ended.error())) {
        co_return;  // the peer has gone: that is no error of the server
    }
    ended.value();
}

}  // namespace detail
}  // namespace weir::ws
