// SPDX-License-Identifier: MIT
// hiredis's parser of replies, with values of our own.
#pragma once

#include <weir/db/redis/value.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace weir::redis::detail {

class reply_reader {
public:
    // A reply with more bytes or elements is an error.
    reply_reader(std::size_t max_bytes, std::size_t max_elements);
    reply_reader(const reply_reader&) = delete;
    reply_reader& operator=(const reply_reader&) = delete;
    ~reply_reader();

    // Discards all input.
    void reset();
    void feed(std::string_view received);
    // The next complete reply. Throws connection_error for invalid or too large replies.
    std::optional<value> next();

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace weir::redis::detail
