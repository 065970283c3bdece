// SPDX-License-Identifier: MIT
// Each thread keeps a store of random bytes, since a mask takes four bytes and a system call a
// microsecond.

#include "ws/protocol/random.hpp"

#include <weir/io/error.hpp>

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace weir::ws::detail {

namespace {

struct store {
    std::array<std::byte, 256> bytes;
    std::size_t used = 256;
};

// Up to 256 bytes are read completely, or not at all.
void read_kernel(io::bytes into) {
    while (::getrandom(into.data(), into.size(), 0) < 0) {
        if (errno != EINTR) {
            throw io_error(errno, "getrandom");
        }
    }
}

}  // namespace

void fill_random(io::bytes into) {
    thread_local store kept;
    while (!into.empty()) {
        if (kept.used == kept.bytes.size()) {
            read_kernel(kept.bytes);
            kept.used = 0;
        }
        const std::size_t count = std::min(into.size(), kept.bytes.size() - kept.used);
        std::memcpy(into.data(), kept.bytes.data() + kept.used, count);
        kept.used += count;
        into = into.after(count);
    }
}

}  // namespace weir::ws::detail
