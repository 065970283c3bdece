// SPDX-License-Identifier: MIT
// System calls on sockets that every kind of socket needs; their errors are io_errors.
#pragma once

#include <weir/io/address.hpp>

namespace weir::io::detail {

address local_address_of(int fd);
address remote_address_of(int fd);
// The message of an error has the numbers.
void set_int_option(int fd, int level, int name, int value);
int int_option(int fd, int level, int name);

}  // namespace weir::io::detail
