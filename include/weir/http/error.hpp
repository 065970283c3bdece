// SPDX-License-Identifier: MIT
// What goes wrong with HTTP, on either side.
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

// Thrown by a handler or a middleware: the request is answered with that status, as problem+json
// whose `detail` is the text. The text goes to the client: nothing secret in it.
class problem : public error {
public:
    problem(status code, const std::string& detail) : error(detail), code_(code) {}
    status code() const noexcept { return code_; }

private:
    status code_;
};

// The peer does not speak HTTP as it should. A server answers with the status and closes.
class protocol_error : public problem {
public:
    using problem::problem;
};

}  // namespace weir::http
