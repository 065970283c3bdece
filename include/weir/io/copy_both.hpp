// SPDX-License-Identifier: MIT
// copy_both: moves bytes between two streams in both directions, as a proxy does.
//
//     auto moved = co_await weir::io::copy_both(client, backend, {.idle_timeout = 5min});
//
// Where one side ends its direction, the other side's is ended (close_write) and the opposite
// direction continues, so a half-closed connection works through it. It returns when both
// directions have ended, or when no byte has moved in either for idle_timeout; then is_idle is set.
// An error of either stream stops the other direction and is thrown. The streams stay open for the
// caller to close. For one direction: copy() in read.hpp.
#pragma once

#include <weir/clock.hpp>
#include <weir/error.hpp>
#include <weir/gather.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/read.hpp>
#include <weir/scope.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace weir::io {

struct copy_both_options {
    clock::duration idle_timeout = clock::duration::max();
    std::size_t chunk = 16 << 10;  // bytes per read, and the memory that each direction takes
};

struct copied_both {
    copied_both() = default;

    std::uint64_t left_to_right = 0;
    std::uint64_t right_to_left = 0;
    bool is_idle = false;  // ended by idle_timeout
};

namespace detail {

template <byte_stream From, byte_stream To, class Moved>
task<void> copy_direction(From& from, To& to, std::size_t chunk, Moved& moved) {
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(chunk);
    const bytes into(buffer.get(), chunk);
    for (;;) {
        const std::size_t count = co_await from.read(into);
        if (count == 0) {
            break;
        }
        co_await to.write(into.first(count));
        moved(count);
    }
    co_await to.close_write();
}

template <byte_stream Left, byte_stream Right>
task<void> copy_directions(Left& left, Right& right, const copy_both_options& options,
                           copied_both& moved, cancel_scope& idle) {
    const auto note = [&](std::uint64_t& total, std::size_t count) {
        total += count;
        if (options.idle_timeout != clock::duration::max()) {
            static_cast<void>(idle.try_reschedule_after(options.idle_timeout));
        }
    };
    auto right_got = [&](std::size_t count) { note(moved.left_to_right, count); };
    auto left_got = [&](std::size_t count) { note(moved.right_to_left, count); };
    co_await gather(copy_direction(left, right, options.chunk, right_got),
                    copy_direction(right, left, options.chunk, left_got));
}

}  // namespace detail

// Throws invalid_argument for invalid options.
template <byte_stream Left, byte_stream Right>
task<copied_both> copy_both(Left& left, Right& right, copy_both_options options = {}) {
    if (options.chunk == 0) {
        detail::throw_bad_size("copy_both", "chunk", options.chunk, "at least 1");
    }
    if (options.idle_timeout <= clock::duration::zero()) {
        throw invalid_argument("copy_both: idle_timeout must be more than 0");
    }
    copied_both moved;
    cancel_scope idle(options.idle_timeout == clock::duration::max()
                          ? clock::time_point::max()
                          : weir::detail::after(now(), options.idle_timeout));
    const bool has_ended =
        co_await idle.run(detail::copy_directions(left, right, options, moved, idle));
    moved.is_idle = !has_ended;
    co_return moved;
}

}  // namespace weir::io
