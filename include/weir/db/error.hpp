// SPDX-License-Identifier: MIT
// The errors that all databases share.
#pragma once

#include <stdexcept>
#include <string>

namespace weir::db {

// Whether a retry may help.
enum class retry_advice : unsigned char {
    no,           // it would fail again: invalid SQL, a constraint
    yes,          // it was not done, and may succeed now: busy, deadlock, serialization failure
    if_harmless,  // it may have been done or not: the connection was lost before the answer
};

// Base of all errors of databases. Messages never contain parameters, which may be secret.
class error : public std::runtime_error {
public:
    error(const std::string& what, retry_advice advice)
        : std::runtime_error(what), advice_(advice) {}
    retry_advice advice() const noexcept { return advice_; }

private:
    retry_advice advice_;
};

// A row cannot be read as requested: another number of columns, another type, a null.
class mapping_error : public error {
public:
    explicit mapping_error(const std::string& what) : error(what, retry_advice::no) {}
};

}  // namespace weir::db
