// SPDX-License-Identifier: MIT
// What the tests of WebSocket share: connections over simulated streams, and a peer that writes
// frames by hand, good and bad.
#pragma once

#include <weir/io/any_stream.hpp>
#include <weir/io/read.hpp>
#include <weir/testing/io/simulated_network.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>
#include <weir/ws/connection.hpp>
#include <weir/ws/serve.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ws_test {

using namespace std::chrono_literals;
namespace io = weir::io;
namespace ws = weir::ws;
using weir::task;
using weir::testing::simulated_network;
using weir::testing::simulated_stream;

// The other end of ws::serve.
template <io::byte_stream Stream, class Handler>
task<> be_client(Stream stream, Handler&& handler, const ws::connection_options& options = {}) {
    ws::established begun;
    begun.stream = io::any_stream(std::move(stream));
    begun.role = ws::role::client;
    return ws::detail::run_connection(
        std::move(begun), ws::detail::to_handler(std::forward<Handler>(handler)), options);
}

inline task<> echo(ws::connection& peer) {
    for (;;) {
        std::optional<ws::message> came = co_await peer.receive();
        if (!came) {
            co_return;
        }
        if (came->is_text()) {
            co_await peer.send(came->text());
        } else {
            co_await peer.send_binary(came->bytes());
        }
    }
}

// A frame with any header, valid or not.
struct raw {
    raw(unsigned which, std::string data = {}, bool is_final = true)  // NOLINT: a kind is a frame
        : kind(which), content(std::move(data)), fin(is_final) {}
    unsigned kind;
    std::string content;
    bool fin;
    unsigned reserved = 0;
    bool masked = true;
    int length_size = -1;                         // 0, 2 or 8 bytes; -1: as it should be
    std::optional<std::uint64_t> announced = {};  // another length than the content's
};

inline std::string bytes_of(const raw& frame) {
    const std::uint64_t length = frame.announced.value_or(frame.content.size());
    const int size = frame.length_size >= 0 ? frame.length_size
                     : length < 126         ? 0
                     : length < 65536       ? 2
                                            : 8;
    std::string out;
    out += static_cast<char>((frame.fin ? 0x80U : 0U) | frame.reserved << 4 | frame.kind);
    out += static_cast<char>((frame.masked ? 0x80U : 0U) | (size == 0   ? length
                                                            : size == 2 ? 126U
                                                                        : 127U));
    for (int at = size - 1; at >= 0; --at) {
        out += static_cast<char>(length >> (8 * at) & 0xFFU);
    }
    const std::string key = "\x11\xA2\x53\xE4";
    if (frame.masked) {
        out += key;
    }
    for (std::size_t at = 0; at < frame.content.size(); ++at) {
        out +=
            frame.masked ? static_cast<char>(frame.content[at] ^ key[at % 4]) : frame.content[at];
    }
    return out;
}

inline std::string close_content(unsigned code, std::string_view reason = {}) {
    std::string out;
    out += static_cast<char>(code >> 8);
    out += static_cast<char>(code & 0xFFU);
    out += reason;
    return out;
}

// What a hand-made client reads: unmasked frames of a server.
struct seen {
    unsigned kind = 0;
    bool fin = true;
    std::string content{};
    unsigned code() const {
        return content.size() < 2 ? 1005U
                                  : static_cast<unsigned char>(content[0]) * 256U +
                                        static_cast<unsigned char>(content[1]);
    }
};

inline std::vector<seen> frames_in(std::string_view bytes) {
    std::vector<seen> out;
    while (bytes.size() >= 2) {
        seen next;
        next.kind = static_cast<unsigned char>(bytes[0]) & 15U;
        next.fin = (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0;
        std::uint64_t length = static_cast<unsigned char>(bytes[1]);
        const std::size_t size = length < 126 ? 0 : length == 126 ? 2 : 8;
        if (bytes.size() < 2 + size) {
            break;
        }
        if (size > 0) {
            length = 0;
            for (std::size_t at = 0; at < size; ++at) {
                length = length << 8 | static_cast<unsigned char>(bytes[2 + at]);
            }
        }
        if (bytes.size() < 2 + size + length) {
            break;
        }
        next.content = bytes.substr(2 + size, length);
        bytes.remove_prefix(2 + size + length);
        out.push_back(std::move(next));
    }
    return out;
}

}  // namespace ws_test
