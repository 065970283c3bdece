// SPDX-License-Identifier: MIT
// What goes wrong with databases, whichever it is.
#pragma once

#include <stdexcept>
#include <string>

namespace weir::db {

// Is it worth another try, by somebody who knows that the work may be done twice?
enum class retry_advice : unsigned char {
    no,           // it will fail again: bad SQL, a constraint
    yes,          // it was not done, and may be done now: busy, a deadlock, a serialization failure
    if_harmless,  // nobody knows whether it was done: the connection was lost meanwhile
};

// Base of all errors of this layer. Messages never contain parameters, which may be secret.
class error : public std::runtime_error {
public:
    error(const std::string& what, retry_advice advice)
        : std::runtime_error(what), advice_(advice) {}
    retry_advice advice() const noexcept { return advice_; }

private:
    retry_advice advice_;
};

// A row does not fit what it was to be read as: another number of columns, another type, a null.
class mapping_error : public error {
public:
    explicit mapping_error(const std::string& what) : error(what, retry_advice::no) {}
};

}  // namespace weir::db
