// SPDX-License-Identifier: MIT
// Seeds come from std::random_device, which uses the system (getrandom or the processor).

#include <weir/flow/seeded_hash.hpp>

#include <random>

namespace weir {

hash_seed hash_seed::random() {
    std::random_device source;
    const auto word = [&source] {
        return (static_cast<std::uint64_t>(source()) << 32) | static_cast<std::uint64_t>(source());
    };
    const std::uint64_t first = word();
    return {first, word()};
}

}  // namespace weir
