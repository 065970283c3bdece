// SPDX-License-Identifier: MIT
// What goes wrong with a WebSocket connection.
#pragma once

#include <weir/http/error.hpp>
#include <weir/http/status.hpp>
#include <weir/ws/close_code.hpp>

#include <string>

namespace weir::ws {

// The connection has ended. what() reads 'the peer closed the connection: 1011 out of memory', 'the
// connection is lost (1006): read from 127.0.0.1:5000: Connection reset by peer'.
class closed : public http::error {
public:
    closed(close_code code, std::string reason, const std::string& what)
        : error(what), code_(code), reason_(std::move(reason)) {}
    // Of the peer's close frame, or of ours where it was the first; abnormal if there was none.
    close_code code() const noexcept { return code_; }
    const std::string& reason() const noexcept { return reason_; }

private:
    close_code code_;
    std::string reason_;
};

// The peer broke the protocol or a limit, was told so, and the connection has ended.
class protocol_error : public closed {
public:
    using closed::closed;
};

// The server did not agree to speak WebSocket. status() is its answer; 0 if that was no HTTP.
class handshake_error : public http::error {
public:
    handshake_error(const std::string& what, http::status answer = {})
        : error(what), status_(answer) {}
    http::status status() const noexcept { return status_; }

private:
    http::status status_;
};

}  // namespace weir::ws
