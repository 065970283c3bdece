// SPDX-License-Identifier: MIT
// The errors of WebSocket connections.
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
    // The code of the first close frame, the peer's or ours; abnormal if there was none.
    close_code code() const noexcept { return code_; }
    const std::string& reason() const noexcept { return reason_; }

private:
    close_code code_;
    std::string reason_;
};

// The peer violated the protocol or a limit, and the connection was closed for that.
class protocol_error : public closed {
public:
    using closed::closed;
};

// The server declined the handshake. status() is that of its response; 0 if that was not HTTP.
class handshake_error : public http::error {
public:
    handshake_error(const std::string& what, http::status answer = {})
        : error(what), status_(answer) {}
    http::status status() const noexcept { return status_; }

private:
    http::status status_;
};

}  // namespace weir::ws
