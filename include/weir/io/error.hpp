// SPDX-License-Identifier: MIT
// Errors from outside the program. Every message names what was attempted.
#pragma once

#include <cstddef>
#include <string>
#include <system_error>

namespace weir {

// An error of the operating system. what() reads 'connect to 127.0.0.1:81: Connection refused';
// code() is the reason, comparable with std::errc.
class io_error : public std::system_error {
public:
    io_error(int error_number, const std::string& attempt)
        : std::system_error(error_number, std::system_category(), attempt) {}
    io_error(std::error_code code, const std::string& attempt) : std::system_error(code, attempt) {}
};

// The stream ended before the read was complete.
class end_of_stream : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The data is larger than the reader's limit: a line without an end, a message that is too long.
class limit_exceeded : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A host name could not be resolved. The message has the name and the reason.
class resolve_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace weir
