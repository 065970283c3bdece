// SPDX-License-Identifier: MIT
// wslay's frame layer parses headers and removes masks; its callback reads from the bytes fed. It
// gives a frame in pieces as they arrive, and each piece is checked at once: an invalid byte of
// text, or a header that declares too much, is refused before the rest has arrived. wslay's event
// layer would do more, but allocates the declared length, and does not tell some violations apart.

#include "ws/protocol/receiver.hpp"

#include <wslay/wslay.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

namespace weir::ws::detail {

// A context of wslay, which has a buffer of 4 KiB.
struct frame_parser {
    frame_parser() {
        static_assert(std::is_same_v<decltype(&frame_parser::give), wslay_frame_recv_callback>);
        const wslay_frame_callbacks callbacks{nullptr, &frame_parser::give, nullptr};
        if (wslay_frame_context_init(&context, &callbacks, this) != 0) {
            throw std::bad_alloc();
        }
    }
    frame_parser(const frame_parser&) = delete;
    frame_parser& operator=(const frame_parser&) = delete;
    ~frame_parser() { wslay_frame_context_free(context); }

    // -1 tells wslay that nothing is left.
    static ssize_t give(std::uint8_t* into, std::size_t room, int /*flags*/, void* self) {
        receiver& to = *static_cast<frame_parser*>(self)->user;
        const std::size_t count = std::min(room, to.input_.size());
        if (count == 0) {
            return -1;
        }
        std::memcpy(into, to.input_.data(), count);
        to.input_ = to.input_.after(count);
        to.unparsed_ += count;
        to.keep_end(std::span(into, count));
        return static_cast<ssize_t>(count);
    }

    wslay_frame_context* context = nullptr;
    receiver* user = nullptr;
};

namespace {

// Between frames a context has no state, so the connections of a thread share a few.
class parser_store {
public:
    std::unique_ptr<frame_parser> take() {
        return count_ == 0 ? std::make_unique<frame_parser>() : std::move(kept_[--count_]);
    }
    void give_back(std::unique_ptr<frame_parser> unused) noexcept {
        if (count_ < kept_.size()) {
            kept_[count_++] = std::move(unused);
        }
    }

private:
    std::array<std::unique_ptr<frame_parser>, 16> kept_;
    std::size_t count_ = 0;
};
thread_local parser_store parsers;

bool is_control(std::uint8_t kind) noexcept {
    return wslay_is_ctrl_frame(kind) != 0;
}

// Lengths have their shortest form: wslay has checked that.
std::size_t header_size(const wslay_frame_iocb& header) noexcept {
    const std::size_t length_size = header.payload_length < 126      ? 0
                                    : header.payload_length < 65'536 ? 2
                                                                     : 8;
    return 2 + length_size + (header.mask != 0 ? 4 : 0);
}

}  // namespace

receiver::receiver(ws::role role, const connection_options& limits)
    : max_message_(limits.max_message), max_frames_(limits.max_frames), role_(role) {}

receiver::~receiver() = default;

// All bytes are used up: unless a frame is incomplete, the parser is given back.
void receiver::rest() noexcept {
    if (!in_frame_ && unparsed_ == 0) {
        parsers.give_back(std::move(frames_));
    }
}

receiver::event receiver::next() {
    if (frames_ == nullptr && !has_ended_ && !input_.empty()) {
        frames_ = parsers.take();
        frames_->user = this;
    }
    while (!has_ended_ && frames_ != nullptr) {
        wslay_frame_iocb part{};
        const ssize_t count = wslay_frame_recv(frames_->context, &part);
        if (count == WSLAY_ERR_WANT_READ) {
            if (!input_.empty()) {
                continue;  // the parser took a part of a header
            }
            if (const char* const error = begin_frame_early()) {
                return violation(refusal_, error);
            }
            rest();
            return {};
        }
        if (count < 0) {
            return violation(close_code::protocol_error,
                             "a control frame is fragmented or too long, or a length is invalid");
        }
        if (!in_frame_) {
            if (const char* const error = begin_frame(part)) {
                return violation(refusal_, error);
            }
        }
        if (const event found =
                take(io::const_bytes(std::as_bytes(std::span(part.data, part.data_length))));
            found.what != kind::nothing) {
            return found;
        }
    }
    frames_.reset();  // further bytes are ignored
    input_ = {};
    return {};
}

// Keeps the last bytes that the parser has taken: a header may be among them.
void receiver::keep_end(std::span<const std::uint8_t> taken) noexcept {
    const std::size_t count = std::min(taken.size(), last_bytes_.size());
    std::copy(last_bytes_.begin() + static_cast<std::ptrdiff_t>(count), last_bytes_.end(),
              last_bytes_.begin());
    std::copy(taken.end() - static_cast<std::ptrdiff_t>(count), taken.end(),
              last_bytes_.end() - static_cast<std::ptrdiff_t>(count));
}

// wslay tells of a frame only with the first byte of its payload. A header without payload is
// checked here, so that a frame which declares too much is refused before any of it is sent. Null,
// or the violation.
const char* receiver::begin_frame_early() noexcept {
    if (in_frame_ || unparsed_ < 2 || unparsed_ > last_bytes_.size()) {
        return nullptr;
    }
    const std::span<const std::uint8_t> bytes = std::span(last_bytes_).last(unparsed_);
    wslay_frame_iocb header{};
    header.fin = bytes[0] >> 7;
    header.rsv = (bytes[0] >> 4) & 7;
    header.opcode = bytes[0] & 15;
    header.mask = bytes[1] >> 7;
    header.payload_length = bytes[1] & 127;
    const std::size_t length_size = header.payload_length < 126    ? 0
                                    : header.payload_length == 126 ? 2
                                                                   : 8;
    if (bytes.size() < 2 + length_size) {
        return nullptr;
    }
    if (length_size > 0) {
        header.payload_length = 0;
        for (const std::uint8_t each : bytes.subspan(2, length_size)) {
            header.payload_length = header.payload_length << 8 | each;
        }
    }
    return unparsed_ == header_size(header) ? begin_frame(header) : nullptr;
}

// Null, or the violation.
const char* receiver::begin_frame(const wslay_frame_iocb& header) noexcept {
    refusal_ = close_code::protocol_error;
    if (header.rsv != 0) {
        return "reserved bits are set without an extension";
    }
    if ((header.mask != 0) != (role_ == role::server)) {
        return role_ == role::server ? "a frame of a client must be masked"
                                     : "a frame of a server must not be masked";
    }
    in_frame_ = true;
    is_final_ = header.fin != 0;
    frame_kind_ = header.opcode;
    frame_left_ = header.payload_length;
    unparsed_ -= header_size(header);
    switch (header.opcode) {
        case WSLAY_CONNECTION_CLOSE:
        case WSLAY_PING:
        case WSLAY_PONG:
            control_size_ = 0;
            return nullptr;
        case WSLAY_TEXT_FRAME:
        case WSLAY_BINARY_FRAME:
            if (in_message_) {
                return "a message began before the previous one ended";
            }
            in_message_ = true;
            is_text_ = header.opcode == WSLAY_TEXT_FRAME;
            message_frames_ = 0;
            message_.clear();
            text_check_.reset();
            break;
        case WSLAY_CONTINUATION_FRAME:
            if (!in_message_) {
                return "a continuation frame without a message";
            }
            break;
        default:
            return "an unknown opcode";
    }
    if (++message_frames_ > max_frames_) {
        refusal_ = close_code::policy_violation;
        return "the message has too many frames";
    }
    if (header.payload_length > max_message_ - message_.size()) {
        refusal_ = close_code::too_big;
        return "the message is too big";
    }
    return nullptr;
}

receiver::event receiver::take(io::const_bytes piece) {
    frame_left_ -= piece.size();
    unparsed_ -= piece.size();
    if (piece.empty()) {
        // nothing to keep
    } else if (is_control(frame_kind_)) {
        std::memcpy(control_.data() + control_size_, piece.data(), piece.size());
        control_size_ = static_cast<std::uint8_t>(control_size_ + piece.size());
    } else {
        if (is_text_ && !text_check_.feed(piece)) {
            return violation(close_code::invalid_data, "the text is not UTF-8");
        }
        message_.append(piece.text());
    }
    return frame_left_ == 0 ? end_frame() : event{};
}

receiver::event receiver::end_frame() {
    in_frame_ = false;
    const std::string_view control(control_.data(), control_size_);
    switch (frame_kind_) {
        case WSLAY_CONNECTION_CLOSE:
            return end_close();
        case WSLAY_PING:
            return {kind::ping, close_code::none, control};
        case WSLAY_PONG:
            return {kind::pong, close_code::none, control};
        default:
            break;
    }
    if (!is_final_) {
        return {};
    }
    if (is_text_ && !text_check_.is_complete()) {
        return violation(close_code::invalid_data, "the text ends in the middle of a character");
    }
    in_message_ = false;
    return {kind::message, close_code::none, {}};
}

receiver::event receiver::end_close() {
    if (control_size_ == 0) {
        has_ended_ = true;
        return {kind::close, close_code::none, {}};
    }
    if (control_size_ == 1) {
        return violation(close_code::protocol_error, "the close code is incomplete");
    }
    const auto high = static_cast<unsigned char>(control_[0]);
    const auto low = static_cast<unsigned char>(control_[1]);
    const auto code = static_cast<close_code>(high << 8 | low);
    const std::string_view reason(control_.data() + 2, control_size_ - std::size_t{2});
    if (!may_be_sent(code)) {
        return violation(close_code::protocol_error, "the close code must not be sent");
    }
    if (!base::is_utf8(reason)) {
        return violation(close_code::invalid_data, "the reason is not UTF-8");
    }
    has_ended_ = true;
    return {kind::close, code, reason};
}

receiver::event receiver::violation(close_code code, std::string_view reason) noexcept {
    has_ended_ = true;
    message_ = {};
    return {kind::violation, code, reason};
}

message receiver::take_message() noexcept {
    message taken(std::move(message_), is_text_);
    message_.clear();
    return taken;
}

}  // namespace weir::ws::detail
