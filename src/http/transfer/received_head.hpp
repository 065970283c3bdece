// SPDX-License-Identifier: MIT
// The head of a response, received from libcurl line by line.
#pragma once

#include <weir/http/headers.hpp>
#include <weir/http/status.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::http::detail {

struct head_limits {
    std::size_t max_bytes;
    std::size_t max_fields;
};

class received_head {
public:
    // Adds one line, with its line end. Returns true if the line completes the head of the final
    // response; interim responses (1xx) are skipped. Later lines are trailers, which are counted
    // and dropped. Throws limit_exceeded, and transport_error for a malformed head.
    bool add_line(std::string_view line, const head_limits& limits);
    void reset() noexcept;

    bool is_complete() const noexcept { return is_complete_; }
    http::status status() const noexcept { return status_; }
    // 10, 11 or 20; 0 if no status line has been received.
    int version() const noexcept { return version_; }
    http::headers& fields() noexcept { return fields_; }
    const http::headers& fields() const noexcept { return fields_; }

private:
    void check_limits(const head_limits& limits) const;
    void read_status_line(std::string_view line);
    void read_field(std::string_view line);
    void continue_field(std::string_view line);
    void end_continuation();
    void check_framing() const;

    http::headers fields_;
    std::string continuation_;  // what continuation lines have added to the last field
    std::size_t bytes_ = 0;
    http::status status_ = http::status::ok;
    int version_ = 0;
    bool is_complete_ = false;
};

}  // namespace weir::http::detail
