// SPDX-License-Identifier: MIT
// A message of a WebSocket peer: a text, which is valid UTF-8, or bytes.
#pragma once

#include <weir/io/buffer.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace weir::ws {

class message {
public:
    message() noexcept = default;
    message(std::string data, bool is_text) noexcept : data_(std::move(data)), is_text_(is_text) {}

    bool is_text() const noexcept { return is_text_; }
    bool is_binary() const noexcept { return !is_text_; }
    // The content, of either kind.
    std::string_view text() const& noexcept { return data_; }
    io::const_bytes bytes() const& noexcept { return io::const_bytes(data_); }
    std::size_t size() const noexcept { return data_.size(); }
    std::string take() && noexcept { return std::move(data_); }

private:
    std::string data_;
    bool is_text_ = true;
};

}  // namespace weir::ws
