// SPDX-License-Identifier: MIT
// hiredis's reader, which makes our values.
#pragma once

#include <weir/db/redis/value.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace weir::redis::detail {

class reply_reader {
public:
    // More bytes or elements than these, in one answer, end the reading.
    reply_reader(std::size_t max_bytes, std::size_t max_elements);
    reply_reader(const reply_reader&) = delete;
    reply_reader& operator=(const reply_reader&) = delete;
    ~reply_reader();

    // Forgets what was fed.
    void reset();
    void feed(std::string_view received);
    // The next answer that is whole. Throws connection_error for what is no answer, or too large.
    std::optional<value> next();

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace weir::redis::detail
