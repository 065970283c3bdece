// SPDX-License-Identifier: MIT
// Linked into every test program: a reference to the io_uring driver makes it a program that uses
// weir::io, so that WEIR_DRIVER=uring works in all of them.

#include <weir/driver.hpp>

namespace weir_test {

[[gnu::used]] static const auto uring_driver = &weir::detail::try_uring_driver;

}  // namespace weir_test
