// SPDX-License-Identifier: MIT
// A message in the form in which a server sends it: made once, and sent to any number of clients.
//
//     const auto tick = weir::ws::frame::text(R"({"price": 42})");
//     for (weir::ws::connection* each : clients) {
//         each->post(tick);
//     }
//
// Header and content are in one block of memory, which copies share. The copies are counted without
// atomics, so a frame and its copies belong to one loop. For the clients of another loop, make
// another frame there.
#pragma once

#include <weir/io/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace weir::ws {

namespace detail {

enum class opcode : std::uint8_t {
    continuation = 0,
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10,
};

}  // namespace detail

class frame {
public:
    frame() noexcept = default;  // empty
    // Throws invalid_argument for a text that is not UTF-8.
    static frame text(std::string_view content);
    static frame binary(io::const_bytes content);

    frame(const frame& other) noexcept : block_(other.block_) {
        if (block_ != nullptr) {
            ++block_->references;
        }
    }
    frame(frame&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    frame& operator=(frame other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~frame() {
        if (block_ != nullptr && --block_->references == 0) {
            destroy(block_);
        }
    }

    explicit operator bool() const noexcept { return block_ != nullptr; }
    bool is_text() const noexcept { return kind() == detail::opcode::text; }
    // The content given to text() or binary().
    io::const_bytes content() const noexcept {
        return block_ != nullptr ? wire().after(block_->header_size) : io::const_bytes();
    }
    // Header and content, as they are sent.
    io::const_bytes wire() const noexcept {
        return block_ != nullptr ? io::const_bytes(block_->bytes(), block_->size)
                                 : io::const_bytes();
    }
    std::size_t size() const noexcept { return block_ != nullptr ? block_->size : 0; }

    // For the library: a frame of any kind; those of clients are masked.
    enum class masked : bool { no, yes };
    static frame make(detail::opcode kind, io::const_bytes content, masked masking = masked::no);
    detail::opcode kind() const noexcept {
        return block_ != nullptr ? static_cast<detail::opcode>(block_->bytes()[0] & std::byte{15})
                                 : detail::opcode::continuation;
    }

private:
    struct block {
        std::uint32_t references;
        std::uint32_t header_size;
        std::size_t size;  // of the bytes that follow
        std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    };
    explicit frame(block* owned) noexcept : block_(owned) {}
    static void destroy(block* gone) noexcept;

    block* block_ = nullptr;
};

}  // namespace weir::ws
