// SPDX-License-Identifier: MIT
// The receiving half of the protocol, without I/O: bytes go in, messages and control frames come
// out.
//
//     receiver in(role::server, options);
//     in.feed(bytes);
//     for (auto came = in.next(); came.what != receiver::kind::nothing; came = in.next()) { ... }
//
// wslay takes the frames apart; this puts messages together and refuses what RFC 6455 and the
// limits forbid. Memory grows with what has arrived, never with what a header announces; between
// frames there is next to none.
#pragma once

#include "base/utf8.hpp"

#include <weir/io/buffer.hpp>
#include <weir/ws/close_code.hpp>
#include <weir/ws/message.hpp>
#include <weir/ws/options.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct wslay_frame_iocb;

namespace weir::ws::detail {

struct frame_parser;

class receiver {
public:
    enum class kind : std::uint8_t {
        nothing,  // of what was fed nothing is left: feed more
        message,  // take_message() has it
        ping,
        pong,
        close,      // code and text: the reason; nothing comes after it
        violation,  // code and text: what to tell the peer; nothing comes after it
    };
    struct event {
        kind what = kind::nothing;
        close_code code = close_code::none;
        std::string_view text{};  // valid until the next call
    };

    receiver(role own, const connection_options& limits);
    receiver(const receiver&) = delete;
    receiver& operator=(const receiver&) = delete;
    ~receiver();

    // More bytes. They must stay where they are until next() has given nothing; what was fed before
    // must have been used up.
    void feed(io::const_bytes input) noexcept { input_ = input; }
    event next();
    message take_message() noexcept;

private:
    friend struct frame_parser;
    void rest() noexcept;
    const char* begin_frame(const wslay_frame_iocb& header) noexcept;
    event take(io::const_bytes piece);
    event end_frame();
    event end_close();
    event violation(close_code code, std::string_view why) noexcept;

    std::unique_ptr<frame_parser> frames_;  // while a frame is under way
    io::const_bytes input_;
    std::size_t max_message_;
    std::size_t max_frames_;
    std::string message_;
    base::utf8_check text_check_;
    std::uint64_t frame_left_ = 0;
    std::size_t unparsed_ = 0;  // bytes that the parser has taken and not given back as frames
    std::size_t message_frames_ = 0;
    std::array<char, 125> control_{};
    std::uint8_t control_size_ = 0;
    std::uint8_t frame_kind_ = 0;
    role own_;
    close_code refusal_ = close_code::protocol_error;  // of what begin_frame refuses
    bool in_frame_ = false;
    bool is_final_ = false;
    bool in_message_ = false;
    bool is_text_ = false;
    bool has_ended_ = false;
};

}  // namespace weir::ws::detail
