// SPDX-License-Identifier: MIT
// The errors of client requests. Every message begins with the request, as in
// 'GET http://127.0.0.1:81/: Connection refused', without user names and passwords.
//
// The client also throws address_refused (address_filter.hpp), weir::resolve_error for a host name
// that cannot be resolved, weir::limit_exceeded for a response that is larger than allowed, and
// weir::invalid_argument for an invalid request.
#pragma once

#include <weir/error.hpp>
#include <weir/http/error.hpp>

#include <string>

namespace weir::http {

// The request got no response, or only part of one.
class transport_error : public error {
public:
    enum class kind : unsigned char {
        connect,        // no connection to the host
        proxy,          // no connection to the proxy, or the proxy refused
        tls,            // the handshake failed, or the certificate is not trusted
        closed,         // the connection was closed before the response was complete
        protocol,       // the response is not valid HTTP
        client_closed,  // the client was destroyed, or its loop ended
        resources,      // no socket: this process or machine has no descriptor or memory left
        other,
    };
    transport_error(kind why, const std::string& text) : error(text), why_(why) {}
    kind why() const noexcept { return why_; }

private:
    kind why_;
};

// One of the request's time limits expired.
class request_timed_out : public timed_out {
public:
    enum class limit : unsigned char {
        connect,  // from the DNS lookup until the connection can be used
        total,    // the whole request, redirects and reading the body included
        stall,    // the time without a byte sent or received, though the client was ready; or
                  // without a connection, because all have responses that nobody reads
    };
    request_timed_out(limit which, const std::string& text) : timed_out(text), which_(which) {}
    limit which() const noexcept { return which_; }

private:
    limit which_;
};

// Too many redirects, or one to a target that the client must not follow.
class redirect_error : public error {
public:
    using error::error;
};

// Thrown by raise_for_status() if the status is 400 or above.
class status_error : public error {
public:
    status_error(status code, const std::string& text) : error(text), code_(code) {}
    status code() const noexcept { return code_; }

private:
    status code_;
};

}  // namespace weir::http
