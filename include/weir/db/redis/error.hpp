// SPDX-License-Identifier: MIT
// Errors of Redis.
#pragma once

#include <weir/db/error.hpp>

#include <string>
#include <string_view>

namespace weir::redis {

// Redis refused the command. what() is its message: 'WRONGTYPE Operation against a key ...'.
class reply_error : public db::error {
public:
    explicit reply_error(const std::string& message);
    // The first word: 'WRONGTYPE'.
    std::string_view kind() const noexcept { return kind_; }

private:
    std::string kind_;
};

// There is no connection, or it was lost. advice() is if_harmless for a command that was sent,
// since Redis may have performed it, and yes for one that was not.
class connection_error : public db::error {
public:
    using db::error::error;
};

}  // namespace weir::redis
