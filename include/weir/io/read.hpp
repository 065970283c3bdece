// SPDX-License-Identifier: MIT
// Algorithms over any stream of bytes: read an exact number, read all, copy one into another.
//
//     co_await weir::io::read_exact(peer, header);                     // or end_of_stream
//     std::string body = co_await weir::io::read_all(peer, 1 << 20);   // or limit_exceeded
//     co_await weir::io::copy(client, server, {.close_write = true});  // one way of a proxy
//
// They keep no bytes: data read before a cancellation is lost. Use a buffered_reader if reading
// must continue after a timeout.
#pragma once

#include <weir/io/byte_stream.hpp>
#include <weir/task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace weir::io {

// The two directions of a stream; an end of a pipe has only one.
template <class Stream>
concept byte_source = requires(Stream& stream, bytes into) {
    requires std::same_as<detail::awaited<decltype(stream.read(into))>, std::size_t>;
};
template <class Stream>
concept byte_sink = requires(Stream& stream, const_bytes data, std::span<const const_bytes> parts) {
    requires std::same_as<detail::awaited<decltype(stream.write(data))>, void>;
    requires std::same_as<detail::awaited<decltype(stream.write(parts))>, void>;
};

namespace detail {
[[noreturn]] void throw_ended_early(const char* call, std::uint64_t came, std::uint64_t wanted);
[[noreturn]] void throw_too_long(const char* call, std::size_t limit);
[[noreturn]] void throw_bad_size(const char* call, const char* option, std::size_t value,
                                 const char* must_be);
}  // namespace detail

// Fills the buffer. Throws end_of_stream, which says how many of how many bytes arrived, if the
// stream ends first.
template <byte_source Stream>
task<void> read_exact(Stream& stream, bytes into) {
    std::size_t filled = 0;
    while (filled < into.size()) {
        const std::size_t count = co_await stream.read(into.after(filled));
        if (count == 0) {
            detail::throw_ended_early("read_exact", filled, into.size());
        }
        filled += count;
    }
}

// Reads to the end. Throws limit_exceeded if there are more than `limit` bytes; it has then read
// one byte too many and keeps none.
template <byte_source Stream>
task<std::string> read_all(Stream& stream, std::size_t limit) {
    std::string all;
    std::size_t filled = 0;
    for (;;) {
        if (filled == all.size()) {
            // One byte over the limit shows whether there is more.
            const std::size_t room = std::max<std::size_t>(2 * filled, 4096);
            all.resize(limit < room ? limit + 1 : room);
        }
        const std::size_t count = co_await stream.read(bytes(all).after(filled));
        if (count == 0) {
            break;
        }
        filled += count;
        if (filled > limit) {
            detail::throw_too_long("read_all", limit);
        }
    }
    all.resize(filled);
    co_return all;
}

// A source that reads into several buffers with one call.
template <class Stream>
concept vectored_source =
    byte_source<Stream> && requires(Stream& stream, std::span<const bytes> parts) {
        requires std::same_as<detail::awaited<decltype(stream.read(parts))>, std::size_t>;
    };

// Reads into several buffers, the first of which is filled first: what has arrived, at least one
// byte, 0 at the end. A source without such a read fills the first buffer that has room. The
// buffers' list is not copied.
template <byte_source Stream>
task<std::size_t> read_parts(Stream& stream, std::span<const bytes> parts) {
    if constexpr (vectored_source<Stream>) {
        return weir::detail::to_task(stream.read(parts));
    } else {
        const auto first = std::find_if(parts.begin(), parts.end(),
                                        [](const bytes& each) { return !each.empty(); });
        return weir::detail::to_task(stream.read(first != parts.end() ? *first : bytes()));
    }
}

struct copy_options {
    bool close_write = false;      // pass the end on, as a proxy passes on half-closes
    std::size_t chunk = 64 << 10;  // bytes per read, and the memory that copying takes
};

// Reads from one stream until its end and writes to the other. Returns the number of bytes. Data
// that was read before a cancellation or a failed write may be lost.
template <byte_source From, byte_sink To>
task<std::uint64_t> copy(From& from, To& to, copy_options options = {}) {
    if (options.chunk == 0) {
        detail::throw_bad_size("copy", "chunk", options.chunk, "at least 1");
    }
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(options.chunk);
    std::uint64_t total = 0;
    for (;;) {
        const std::size_t count = co_await from.read(bytes(buffer.get(), options.chunk));
        if (count == 0) {
            break;
        }
        co_await to.write(const_bytes(buffer.get(), count));
        total += count;
    }
    if constexpr (requires { to.close_write(); }) {
        if (options.close_write) {
            co_await to.close_write();
        }
    }
    co_return total;
}

}  // namespace weir::io
