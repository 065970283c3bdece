// SPDX-License-Identifier: MIT
// System calls on sockets that every kind of socket needs; their errors are io_errors.
#pragma once

#include <weir/io/address.hpp>

namespace weir::io::detail {

// A non-blocking socket for the address, or -1 and errno. On a machine without IPv6, all addresses
// (::) become all IPv4 addresses, unless only IPv6 is wanted.
int open_socket(address& at, int type, bool only_v6) noexcept;
address local_address_of(int fd);
address remote_address_of(int fd);
// The message of an error has the numbers.
void set_int_option(int fd, int level, int name, int value);
int int_option(int fd, int level, int name);

}  // namespace weir::io::detail
