// SPDX-License-Identifier: MIT
// The bytes of a WebSocket peer. The first byte of the input selects whether we are the server or
// the client; the rest is compared with a plain implementation of RFC 6455, whole and in pieces.

#include "base/utf8.hpp"
#include "fuzz.hpp"
#include "ws/protocol/receiver.hpp"

#include <weir/ws/frame.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

using fuzz::require;
using weir::ws::close_code;
using weir::ws::role;
using weir::ws::detail::receiver;
using kind = receiver::kind;

// Small, so that they are met.
constexpr weir::ws::connection_options limits{.max_message = 300, .max_frames = 5};

struct happening {
    kind what;
    close_code code = close_code::none;
    std::string text;
    bool is_text = false;

    friend bool operator==(const happening& a, const happening& b) {
        // How a violation is put into words is no part of the contract.
        return a.what == b.what && a.code == b.code && a.is_text == b.is_text &&
               (a.what == kind::violation || a.text == b.text);
    }
};

// U+0000 to U+10FFFF without surrogates, each in its shortest form; a part of one at the end is
// good if it can become one.
bool is_beginning_of_utf8(std::string_view text, bool* is_whole) {
    *is_whole = true;
    for (std::size_t i = 0; i < text.size();) {
        const auto at = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
        const unsigned first = at(i);
        const std::size_t length = first < 0x80                     ? 1
                                   : first >= 0xc2 && first <= 0xdf ? 2
                                   : first >= 0xe0 && first <= 0xef ? 3
                                   : first >= 0xf0 && first <= 0xf4 ? 4
                                                                    : 0;
        if (length == 0) return false;
        for (std::size_t k = 1; k < length; ++k) {
            if (i + k == text.size()) {
                *is_whole = false;
                return true;
            }
            unsigned low = 0x80;
            unsigned high = 0xbf;
            if (k == 1 && first == 0xe0) low = 0xa0;
            if (k == 1 && first == 0xed) high = 0x9f;
            if (k == 1 && first == 0xf0) low = 0x90;
            if (k == 1 && first == 0xf4) high = 0x8f;
            if (at(i + k) < low || at(i + k) > high) return false;
        }
        i += length;
    }
    return true;
}

class model {
public:
    model(role own, std::string_view input) : input_(input), own_(own) {}

    std::vector<happening> run() {
        while (frame()) {
        }
        return std::move(happened_);
    }

private:
    bool violation(close_code code) {
        happened_.push_back({kind::violation, code, {}, false});
        return false;
    }

    // False: it is the last one, or the input is used up.
    bool frame() {
        if (input_.size() < 2) return early_header();
        const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(input_[at]); };
        const unsigned code = byte(0) & 15U;
        const bool is_final = (byte(0) & 128U) != 0;
        const bool is_masked = (byte(1) & 128U) != 0;
        const unsigned short_length = byte(1) & 127U;
        if (code >= 8 && (!is_final || short_length > 125)) {
            return violation(close_code::protocol_error);
        }
        const std::size_t length_size = short_length == 126 ? 2 : short_length == 127 ? 8 : 0;
        if (input_.size() < 2 + length_size) return false;
        std::uint64_t length = length_size == 0 ? short_length : 0;
        for (std::size_t i = 0; i < length_size; ++i) {
            length = length << 8 | byte(2 + i);
        }
        const bool is_shortest = length_size == 0 || (length_size == 2 && length > 125) ||
                                 (length_size == 8 && length > 65535 && length >> 63 == 0);
        if (!is_shortest) return violation(close_code::protocol_error);
        const std::size_t header_size = 2 + length_size + (is_masked ? 4 : 0);
        if (input_.size() < header_size) return false;
        std::string payload(input_.substr(
            header_size, static_cast<std::size_t>(std::min<std::uint64_t>(length, input_.size()))));
        for (std::size_t i = 0; is_masked && i < payload.size(); ++i) {
            payload[i] = static_cast<char>(payload[i] ^ input_[header_size - 4 + i % 4]);
        }
        if ((byte(0) & 0x70U) != 0 || is_masked != (own_ == role::server)) {
            return violation(close_code::protocol_error);
        }
        input_.remove_prefix(header_size + payload.size());
        const bool is_whole = payload.size() == length;
        return code >= 8 ? control(code, payload, is_whole)
                         : data(code, payload, length, is_final, is_whole);
    }

    // wslay waits for both bytes of it.
    bool early_header() { return false; }

    bool control(unsigned code, const std::string& payload, bool is_whole) {
        if (code > 10) return violation(close_code::protocol_error);
        if (!is_whole) return false;
        if (code == 9) happened_.push_back({kind::ping, close_code::none, payload, false});
        if (code == 10) happened_.push_back({kind::pong, close_code::none, payload, false});
        if (code != 8) return true;
        if (payload.empty()) {
            happened_.push_back({kind::close, close_code::none, {}, false});
            return false;
        }
        if (payload.size() == 1) return violation(close_code::protocol_error);
        const auto number =
            static_cast<unsigned char>(payload[0]) << 8 | static_cast<unsigned char>(payload[1]);
        const bool is_known = (number >= 1000 && number <= 1003) ||
                              (number >= 1007 && number <= 1014) ||
                              (number >= 3000 && number <= 4999);
        if (!is_known) return violation(close_code::protocol_error);
        bool ends_well = false;
        if (!is_beginning_of_utf8(payload.substr(2), &ends_well) || !ends_well) {
            return violation(close_code::invalid_data);
        }
        happened_.push_back(
            {kind::close, static_cast<close_code>(number), payload.substr(2), false});
        return false;
    }

    bool data(unsigned code, const std::string& payload, std::uint64_t length, bool is_final,
              bool is_whole) {
        if (code > 2 || (code == 0) != in_message_) return violation(close_code::protocol_error);
        if (code != 0) {
            in_message_ = true;
            is_text_ = code == 1;
            frames_ = 0;
            message_.clear();
        }
        if (++frames_ > limits.max_frames) return violation(close_code::policy_violation);
        if (length > limits.max_message - message_.size()) return violation(close_code::too_big);
        message_ += payload;
        bool ends_well = true;
        if (is_text_ && !is_beginning_of_utf8(message_, &ends_well)) {
            return violation(close_code::invalid_data);
        }
        if (!is_whole) return false;
        if (is_final) {
            if (!ends_well) return violation(close_code::invalid_data);
            happened_.push_back({kind::message, close_code::none, message_, is_text_});
            in_message_ = false;
        }
        return true;
    }

    std::string_view input_;
    std::vector<happening> happened_;
    std::string message_;
    std::size_t frames_ = 0;
    role own_;
    bool in_message_ = false;
    bool is_text_ = false;
};

std::vector<happening> received(role own, std::string_view input, std::size_t most_piece,
                                fuzz::dice& random) {
    std::vector<happening> happened;
    receiver in(own, limits);
    while (!input.empty()) {
        const std::size_t size = std::min(input.size(), 1 + random.up_to(most_piece - 1));
        // In a separate allocation, so that the sanitizer detects an access beyond the end.
        const std::vector<char> piece(input.begin(),
                                      input.begin() + static_cast<std::ptrdiff_t>(size));
        input.remove_prefix(size);
        in.feed(weir::io::const_bytes(piece));
        for (auto came = in.next(); came.what != kind::nothing; came = in.next()) {
            require(happened.empty() || (happened.back().what != kind::close &&
                                         happened.back().what != kind::violation),
                    "nothing comes after the end");
            happening next{came.what, came.code, std::string(came.text), false};
            if (came.what == kind::message) {
                const weir::ws::message message = in.take_message();
                next.text = message.text();
                next.is_text = message.is_text();
            }
            happened.push_back(std::move(next));
        }
    }
    return happened;
}

void require_round_trip(role own, const happening& each) {
    using weir::ws::frame;
    using weir::ws::detail::opcode;
    const auto masked = own == role::server ? frame::masked::yes : frame::masked::no;
    const auto sent = frame::make(each.what == kind::ping   ? opcode::ping
                                  : each.what == kind::pong ? opcode::pong
                                  : each.is_text            ? opcode::text
                                                            : opcode::binary,
                                  each.text, masked);
    fuzz::dice random(each.text);
    const auto again = received(own, sent.wire().text(), 7, random);
    require(again.size() == 1 && again.front() == each, "what is sent again arrives again");
}

}  // namespace

WEIR_FUZZ_TARGET(websocket) {
    if (input.empty()) return;
    const role own = (input.front() & 1) != 0 ? role::client : role::server;
    input.remove_prefix(1);
    const std::vector<happening> meant = model(own, input).run();
    fuzz::dice random(input);
    const auto whole = received(own, input, std::max<std::size_t>(1, input.size()), random);
    require(whole == meant, "as RFC 6455 has it");
    require(received(own, input, 1 + random.up_to(20), random) == meant, "in pieces");
    for (const happening& each : meant) {
        if (each.what != kind::close && each.what != kind::violation) {
            require_round_trip(own, each);
        }
    }

    bool is_whole = false;
    const bool is_good = is_beginning_of_utf8(input, &is_whole);
    require(weir::base::is_utf8(input) == (is_good && is_whole), "UTF-8");
}
