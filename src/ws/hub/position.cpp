// SPDX-License-Identifier: MIT
// Positions as text: the epoch in 16 hexadecimal digits, and the number in decimal.

#include "base/quoted.hpp"

#include <weir/ws/position.hpp>

#include <charconv>
#include <system_error>

namespace weir::ws {

namespace {

constexpr std::size_t epoch_digits = 16;

// The text must be the number and nothing else.
template <int Base>
bool read_number(std::string_view text, std::uint64_t& number) noexcept {
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number, Base);
    return error == std::errc() && at == end;
}

}  // namespace

std::string position::text() const {
    std::string token;
    base::append_hex(token, epoch);
    return token + "-" + std::to_string(number);
}

std::optional<position> position::parse(std::string_view token) noexcept {
    if (token.size() < epoch_digits + 2 || token[epoch_digits] != '-') {
        return std::nullopt;
    }
    position read;
    const std::string_view number = token.substr(epoch_digits + 1);
    const bool is_padded = number.size() > 1 && number.front() == '0';
    if (is_padded || !read_number<16>(token.substr(0, epoch_digits), read.epoch) ||
        !read_number<10>(number, read.number)) {
        return std::nullopt;
    }
    return read;
}

}  // namespace weir::ws
