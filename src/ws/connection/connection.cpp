// SPDX-License-Identifier: MIT
// The public face of a connection: checks arguments and makes frames for connection_core.

#include "base/utf8.hpp"
#include "ws/connection/connection_core.hpp"
#include "ws/protocol/check_text.hpp"

#include <weir/error.hpp>
#include <weir/ws/connection.hpp>

#include <string>

namespace weir::ws {

namespace {

void check_close(close_code code, std::string_view reason) {
    if (!may_be_sent(code)) {
        throw invalid_argument("ws: the close code is " + std::to_string(number_of(code)) +
                               "; it must be a code that RFC 6455 allows to send, or 3000 to 4999");
    }
    if (reason.size() > 123 || !base::is_utf8(reason)) {
        throw invalid_argument("ws: the close reason has " + std::to_string(reason.size()) +
                               " bytes; it must be UTF-8 of at most 123 bytes");
    }
}

}  // namespace

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
    detail::check_text(text);
    return core_->send(core_->make(detail::opcode::text, text));
}

task<> connection::send_binary(io::const_bytes data) {
    return core_->send(core_->make(detail::opcode::binary, data));
}

task<> connection::send(frame ready) {
    if (!ready) {
        throw invalid_argument(
            "ws: the frame is empty; make one with frame::text or frame::binary");
    }
    return core_->send(core_->make_own(std::move(ready)));
}

bool connection::try_send(std::string_view text) {
    detail::check_text(text);
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
    return core_->end() ? std::optional(core_->end()->code) : std::nullopt;
}

std::string_view connection::reason() const noexcept {
    return core_->end() ? std::string_view(core_->end()->reason) : std::string_view();
}

std::string_view connection::protocol() const noexcept {
    return core_->protocol();
}

connection_stats connection::stats() const noexcept {
    return core_->stats();
}

}  // namespace weir::ws
