// SPDX-License-Identifier: MIT
// The kernel knows the size, which may change at any moment.

#include "program/output/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace weir::program {

bool is_terminal(int descriptor) noexcept {
    return ::isatty(descriptor) != 0;
}

terminal_size size_of_terminal(int descriptor) noexcept {
    winsize size{};
    terminal_size found;
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        found.columns = size.ws_col;
        found.rows = size.ws_row;
    }
    return found;
}

}  // namespace weir::program
