// SPDX-License-Identifier: MIT
// The terminal behind a descriptor.
#pragma once

#include <cstddef>

namespace weir::program {

struct terminal_size {
    std::size_t columns = 80;
    std::size_t rows = 24;
};

bool is_terminal(int descriptor) noexcept;
// The default size where the descriptor is no terminal, or one that does not know its size.
terminal_size size_of_terminal(int descriptor) noexcept;

}  // namespace weir::program
