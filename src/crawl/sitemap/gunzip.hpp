// SPDX-License-Identifier: MIT
// Decompresses gzip piece by piece; several members follow one another as one text.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

class gunzip {
public:
    static constexpr std::string_view magic = "\x1F\x8B";

    gunzip();
    ~gunzip();
    gunzip(const gunzip&) = delete;
    gunzip& operator=(const gunzip&) = delete;

    enum class step : unsigned char {
        needs_input,
        has_output,  // call again with the rest of the input
        failed,      // the input is not gzip from here on
    };
    // Appends at most `room` bytes to the output, and removes what it used from the input.
    step run(std::string_view& input, std::string& output, std::size_t room);
    // Whether the last member is complete.
    bool is_complete() const noexcept { return is_complete_; }

private:
    struct stream;
    std::unique_ptr<stream> stream_;
    bool is_complete_ = false;
};

}  // namespace weir::crawl::detail
