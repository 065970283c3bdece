// SPDX-License-Identifier: MIT
// The interface that sockets, TLS, files and simulated connections share, so that a protocol is
// written once and tested without a network.
//
//     template <weir::io::byte_stream Stream>
//     weir::task<> echo(Stream& peer) {
//         std::array<char, 1024> buffer;
//         for (;;) {
//             const std::size_t count = co_await peer.read(buffer);
//             if (count == 0) {
//                 co_return;
//             }
//             co_await peer.write(weir::io::bytes(buffer).first(count));
//         }
//     }
//
// The contract:
//
// - read(into) waits for at least one byte and returns how many arrived: 0 is the end of the stream
// (or an empty buffer, which does not wait). If it is cancelled before bytes arrive, it has taken
// none; bytes that have arrived are delivered, and the fiber stops at its next suspension: no byte
// is lost.
// - write(data) returns when all data has been handed over. If it is cancelled, a part may have
// been written, and a stream of messages cannot continue. write(parts) writes several parts as
// one.
// - close_write() ends our direction, so that the peer reads the end; the other direction
// continues.
// - close() ends both at once, without waiting. Operations of other tasks that are in flight end
// with an io_error (ECANCELED). Destroying the stream closes it.
// - One task may read while another writes; two readers or two writers at once are an
// invalid_state.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/io/buffer.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

namespace weir::io {

namespace detail {
template <class Awaitable>
using awaited = weir::detail::awaited_t<Awaitable>;
}

template <class Stream>
concept byte_stream =
    requires(Stream& stream, bytes into, const_bytes data, std::span<const const_bytes> parts) {
        { stream.read(into) };
        requires std::same_as<detail::awaited<decltype(stream.read(into))>, std::size_t>;
        requires std::same_as<detail::awaited<decltype(stream.write(data))>, void>;
        requires std::same_as<detail::awaited<decltype(stream.write(parts))>, void>;
        requires std::same_as<detail::awaited<decltype(stream.close_write())>, void>;
        { stream.close() } noexcept;
    };

// How much of a connection the peer has closed.
enum class closure : unsigned char {
    none,
    sending,  // its own direction: it has left, or sends no more and waits for what we send
    both,     // it has reset the connection, or the connection has failed
};

// A stream that reports the end of the connection to a task that does not read. peer_closure()
// tells what is known now; co_await until_peer_closes() waits for an end of the peer's direction,
// or of both, whatever is left to read.
template <class Stream>
concept reports_closure = byte_stream<Stream> && requires(Stream& stream) {
    { stream.peer_closure() } noexcept -> std::same_as<closure>;
    requires std::same_as<detail::awaited<decltype(stream.until_peer_closes())>, void>;
};

}  // namespace weir::io
