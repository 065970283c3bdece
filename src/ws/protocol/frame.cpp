// SPDX-License-Identifier: MIT
// The format of frames (RFC 6455, section 5.2): two bytes of flags and short length, 0, 2 or 8
// bytes of a longer length, the mask of a client, the content.

#include "ws/protocol/check_text.hpp"
#include "ws/protocol/random.hpp"

#include <weir/ws/frame.hpp>

#include <array>
#include <cstring>
#include <new>

namespace weir::ws {

namespace {

void copy_masked(std::byte* to, io::const_bytes from, const std::array<std::byte, 4>& key) {
    std::array<std::byte, 8> twice;
    std::memcpy(twice.data(), key.data(), 4);
    std::memcpy(twice.data() + 4, key.data(), 4);
    std::uint64_t mask = 0;
    std::memcpy(&mask, twice.data(), 8);
    std::size_t at = 0;
    for (; at + 8 <= from.size(); at += 8) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, from.data() + at, 8);
        eight ^= mask;
        std::memcpy(to + at, &eight, 8);
    }
    for (; at < from.size(); ++at) {
        to[at] = from.data()[at] ^ key[at % 4];
    }
}

}  // namespace

frame frame::text(std::string_view content) {
    detail::check_text(content);
    return make(detail::opcode::text, content);
}

frame frame::binary(io::const_bytes content) {
    return make(detail::opcode::binary, content);
}

frame frame::make(detail::opcode kind, io::const_bytes content, masked masking) {
    const std::size_t length_size = content.size() < 126 ? 0 : content.size() < 65'536 ? 2 : 8;
    const std::size_t header_size = 2 + length_size + (masking == masked::yes ? 4 : 0);
    const std::size_t size = header_size + content.size();
    void* const memory = ::operator new(sizeof(block) + size);
    frame made(new (memory) block{1, static_cast<std::uint32_t>(header_size), size});

    std::byte* at = made.block_->bytes();
    const auto mask_flag = masking == masked::yes ? 0x80U : 0U;
    const auto short_length = length_size == 0 ? content.size() : length_size == 2 ? 126U : 127U;
    *at++ = static_cast<std::byte>(0x80U | static_cast<unsigned>(kind));
    *at++ = static_cast<std::byte>(mask_flag | short_length);
    for (std::size_t left = length_size; left > 0; --left) {
        *at++ = static_cast<std::byte>(std::uint64_t{content.size()} >> (8 * (left - 1)) & 0xFFU);
    }
    if (masking == masked::yes) {
        std::array<std::byte, 4> key;
        detail::fill_random(key);
        std::memcpy(at, key.data(), key.size());
        copy_masked(at + key.size(), content, key);
    } else if (!content.empty()) {
        std::memcpy(at, content.data(), content.size());
    }
    return made;
}

void frame::destroy(block* gone) noexcept {
    ::operator delete(gone);
}

}  // namespace weir::ws
