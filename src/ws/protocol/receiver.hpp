// SPDX-License-Identifier: MIT
// The receiving half of the protocol, without I/O: takes bytes, gives messages and control frames.
//
//     receiver in(role::server, options);
//     in.feed(bytes);
//     for (auto event = in.next(); event.what != kind::nothing; event = in.next()) { ... }
//
// wslay parses the frames; this class assembles messages and refuses violations of RFC 6455 and of
// the limits. Memory grows with the bytes received, never with the length that a header declares;
// between frames it takes next to none.
#pragma once

#include "base/utf8.hpp"

#include <weir/io/buffer.hpp>
#include <weir/ws/close_code.hpp>
#include <weir/ws/message.hpp>
#include <weir/ws/options.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct wslay_frame_iocb;

namespace weir::ws::detail {

struct frame_parser;

class receiver {
public:
    enum class kind : std::uint8_t {
        nothing,  // all that was fed is used up: feed more
        message,  // take_message() has it
        ping,
        pong,
        close,      // with code and reason; nothing comes after it
        violation,  // with the code and reason for the peer; nothing comes after it
    };
    struct event {
        kind what = kind::nothing;
        close_code code = close_code::none;
        std::string_view text{};  // valid until the next call
    };

    receiver(ws::role role, const connection_options& limits);
    receiver(const receiver&) = delete;
    receiver& operator=(const receiver&) = delete;
    ~receiver();

    // More bytes, when all before are used up. They must stay valid until next() has given
    // `nothing`.
    void feed(io::const_bytes input) noexcept { input_ = input; }
    event next();
    message take_message() noexcept;

private:
    friend struct frame_parser;
    void rest() noexcept;
    void keep_end(std::span<const std::uint8_t> taken) noexcept;
    const char* begin_frame_early() noexcept;
    const char* begin_frame(const wslay_frame_iocb& header) noexcept;
    event take(io::const_bytes piece);
    event end_frame();
    event end_close();
    event violation(close_code code, std::string_view why) noexcept;

    std::unique_ptr<frame_parser> frames_;  // during a frame
    io::const_bytes input_;
    std::size_t max_message_;
    std::size_t max_frames_;
    std::string message_;
    base::utf8_check text_check_;
    std::uint64_t frame_left_ = 0;
    std::size_t unparsed_ = 0;  // bytes that the parser has taken and not yet given as frames
    std::size_t message_frames_ = 0;
    std::array<std::uint8_t, 14> last_bytes_{};  // as long as the longest header
    std::array<char, 125> control_{};
    std::uint8_t control_size_ = 0;
    std::uint8_t frame_kind_ = 0;
    ws::role role_;
    close_code refusal_ = close_code::protocol_error;  // for a frame that begin_frame refuses
    bool in_frame_ = false;
    bool is_final_ = false;
    bool in_message_ = false;
    bool is_text_ = false;
    bool has_ended_ = false;
};

}  // namespace weir::ws::detail
