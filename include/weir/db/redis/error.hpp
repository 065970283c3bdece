// SPDX-License-Identifier: MIT
// What goes wrong with Redis.
#pragma once

#include <weir/db/error.hpp>

#include <string>
#include <string_view>

namespace weir::redis {

// Redis refused the command. what() is what it said: 'WRONGTYPE Operation against a key holding
// ...'.
class reply_error : public db::error {
public:
    explicit reply_error(const std::string& words);
    // The first word: 'WRONGTYPE'.
    std::string_view kind() const noexcept { return kind_; }

private:
    std::string kind_;
};

// There is no connection, or it was lost. A command that was sent already may have been done:
// advice() is if_harmless then, and yes if it was not sent.
class connection_error : public db::error {
public:
    using db::error::error;
};

}  // namespace weir::redis
