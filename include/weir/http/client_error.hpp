// SPDX-License-Identifier: MIT
// What goes wrong with a request of the client. Every message begins with what was asked for, as in
// 'GET http://127.0.0.1:81/: Connection refused'; user names and passwords of URLs are never in it.
//
// Beside these: address_refused (address_filter.hpp), weir::resolve_error for a host name that
// leads nowhere, weir::limit_exceeded for an answer that is larger than allowed,
// weir::invalid_argument for a request that makes no sense.
#pragma once

#include <weir/error.hpp>
#include <weir/http/error.hpp>

#include <string>

namespace weir::http {

// The request did not get an answer, or only a part of one.
class transport_error : public error {
public:
    enum class kind : unsigned char {
        connect,        // nobody there
        proxy,          // the same, with the proxy; or it refused
        tls,            // no agreement on a connection, or a certificate that is not trusted
        closed,         // the connection ended before the answer did
        protocol,       // what came is no HTTP
        client_closed,  // by us: the client was destroyed, or its loop ended
        other,
    };
    transport_error(kind why, const std::string& text) : error(text), why_(why) {}
    kind why() const noexcept { return why_; }

private:
    kind why_;
};

// One of the request's time limits was reached.
class request_timed_out : public timed_out {
public:
    enum class limit : unsigned char {
        connect,  // from the question for the host's addresses until a connection could be used
        total,    // of everything, redirects and the reading of the body included
        stall,    // no byte came or went for so long, though we were ready
    };
    request_timed_out(limit which, const std::string& text) : timed_out(text), which_(which) {}
    limit which() const noexcept { return which_; }

private:
    limit which_;
};

// A redirect that the client's policy does not follow: too many, or to where it must not go.
class redirect_error : public error {
public:
    using error::error;
};

// raise_for_status(): the answer is an error.
class status_error : public error {
public:
    status_error(status code, const std::string& text) : error(text), code_(code) {}
    status code() const noexcept { return code_; }

private:
    status code_;
};

}  // namespace weir::http
