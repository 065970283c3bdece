// SPDX-License-Identifier: MIT
// The errors of HTTP servers and clients.
#pragma once

#include <weir/http/status.hpp>

#include <stdexcept>
#include <string>

namespace weir::http {

// Base of all errors of this layer.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Thrown by a handler or a middleware: the request is answered with the status, as problem+json
// with the text as `detail`. The client sees the text: it must not contain secrets.
class problem : public error {
public:
    problem(status code, const std::string& detail) : error(detail), code_(code) {}
    status code() const noexcept { return code_; }

private:
    status code_;
};

// The peer violates the protocol. A server answers with the status and closes the connection.
class protocol_error : public problem {
public:
    using problem::problem;
};

}  // namespace weir::http
