// SPDX-License-Identifier: MIT
// Errors of SQLite.
#pragma once

#include <weir/db/error.hpp>

#include <string>

namespace weir::sqlite {

// code() is SQLite's extended result code: 2067 is SQLITE_CONSTRAINT_UNIQUE. The message is
// SQLite's own and the SQL, without parameters.
class error : public db::error {
public:
    error(int code, const std::string& what);
    int code() const noexcept { return code_; }
    int primary_code() const noexcept { return code_ & 0xff; }
    bool is_constraint() const noexcept { return primary_code() == 19; }
    bool is_busy() const noexcept { return primary_code() == 5 || primary_code() == 6; }
    bool is_full() const noexcept { return primary_code() == 13; }
    // The task was stopped.
    bool is_interrupted() const noexcept { return primary_code() == 9; }

private:
    int code_;
};

}  // namespace weir::sqlite
