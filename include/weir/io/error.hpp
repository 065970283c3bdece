// SPDX-License-Identifier: MIT
// What goes wrong outside the program. Every message names what was asked for.
#pragma once

#include <cstddef>
#include <string>
#include <system_error>

namespace weir {

// The operating system refused. what() reads 'connect to 127.0.0.1:81: Connection refused'; code()
// is the reason, comparable with std::errc.
class io_error : public std::system_error {
public:
    io_error(int error_number, const std::string& attempt)
        : std::system_error(error_number, std::system_category(), attempt) {}
    io_error(std::error_code code, const std::string& attempt) : std::system_error(code, attempt) {}
};

// The stream ended in the middle of what was to be read.
class end_of_stream : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What was to be read is larger than the reader allows: a line without an end, a message too long.
class limit_exceeded : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A host name that could not be turned into addresses. The message names it and says why.
class resolve_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace weir
