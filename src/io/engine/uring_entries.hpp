// SPDX-License-Identifier: MIT
// Describes operations to io_uring. A build without liburing has the same functions, which are
// never called.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#if WEIR_HAVE_IO_URING
#include <liburing.h>
#else
struct io_uring_sqe {};
#endif

namespace weir::io::detail {

// Bytes of one read or write on either driver. The system copies them before the loop continues: it
// takes some 50 microseconds for so many.
inline constexpr std::size_t most_per_transfer = std::size_t{256} << 10;

}  // namespace weir::io::detail

namespace weir::io::detail::uring {

#if WEIR_HAVE_IO_URING

// The kernel tries at once before it waits: under load there often is data.
inline void receive(io_uring_sqe& entry, int fd, void* into, std::size_t size) noexcept {
    io_uring_prep_recv(&entry, fd, into, size, 0);
}
// MSG_WAITALL: the kernel continues until all is sent.
inline void send(io_uring_sqe& entry, int fd, const void* data, std::size_t size) noexcept {
    io_uring_prep_send(&entry, fd, data, size, MSG_NOSIGNAL | MSG_WAITALL);
}
inline void send_message(io_uring_sqe& entry, int fd, const msghdr& message) noexcept {
    io_uring_prep_sendmsg(&entry, fd, &message, MSG_NOSIGNAL | MSG_WAITALL);
}
inline void receive_message(io_uring_sqe& entry, int fd, msghdr& message) noexcept {
    io_uring_prep_recvmsg(&entry, fd, &message, 0);
}
inline void accept(io_uring_sqe& entry, int fd) noexcept {
    io_uring_prep_accept(&entry, fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
inline void connect(io_uring_sqe& entry, int fd, const sockaddr* to, std::size_t size) noexcept {
    io_uring_prep_connect(&entry, fd, to, static_cast<socklen_t>(size));
}
inline void poll(io_uring_sqe& entry, int fd, unsigned events) noexcept {
    io_uring_prep_poll_add(&entry, fd, events);
}
inline void read(io_uring_sqe& entry, int fd, void* into, std::size_t size,
                 std::uint64_t offset) noexcept {
    io_uring_prep_read(&entry, fd, into, static_cast<unsigned>(size), offset);
}
inline void read_parts(io_uring_sqe& entry, int fd, const iovec* parts, std::size_t count,
                       std::uint64_t offset) noexcept {
    io_uring_prep_readv(&entry, fd, parts, static_cast<unsigned>(count), offset);
}
inline void write(io_uring_sqe& entry, int fd, const void* data, std::size_t size,
                  std::uint64_t offset) noexcept {
    io_uring_prep_write(&entry, fd, data, static_cast<unsigned>(size), offset);
}
inline void sync(io_uring_sqe& entry, int fd, bool data_only) noexcept {
    io_uring_prep_fsync(&entry, fd, data_only ? IORING_FSYNC_DATASYNC : 0);
}
inline void open(io_uring_sqe& entry, int at, const char* path, int flags, unsigned mode) noexcept {
    io_uring_prep_openat(&entry, at, path, flags, mode);
}
inline void status(io_uring_sqe& entry, int at, const char* path, int flags, void* into) noexcept {
    io_uring_prep_statx(&entry, at, path, flags, STATX_BASIC_STATS,
                        static_cast<struct ::statx*>(into));
}
inline void remove(io_uring_sqe& entry, int at, const char* path, int flags) noexcept {
    io_uring_prep_unlinkat(&entry, at, path, flags);
}
inline void rename(io_uring_sqe& entry, int at, const char* from, const char* to) noexcept {
    io_uring_prep_renameat(&entry, at, from, at, to, 0);
}
inline void make_directory(io_uring_sqe& entry, int at, const char* path, unsigned mode) noexcept {
    io_uring_prep_mkdirat(&entry, at, path, mode);
}

#else

template <class... Args>
void receive(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void send(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void send_message(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void receive_message(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void accept(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void connect(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void poll(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void read(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void read_parts(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void write(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void sync(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void open(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void status(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void remove(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void rename(io_uring_sqe&, Args&&...) noexcept {}
template <class... Args>
void make_directory(io_uring_sqe&, Args&&...) noexcept {}

#endif

}  // namespace weir::io::detail::uring
