// SPDX-License-Identifier: MIT
// Watches of foreign descriptors (weir/fd.hpp) by io_uring.
#pragma once

#include <weir/driver.hpp>

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <vector>

namespace weir::io::detail {

// One poll entry in the kernel. The object is reused after the completion has arrived.
struct uring_watch {
    fd_watch* watcher;  // null: forgotten; only the completion is outstanding
    int fd;
    readiness direction;
    uring_watch* next_spare = nullptr;
};

// Owns the watches, also those that were forgotten and whose completion is outstanding. Watching
// again and again, as the HTTP client does, allocates nothing.
class uring_watches {
public:
    uring_watches() noexcept = default;
    uring_watches(const uring_watches&) = delete;
    uring_watches& operator=(const uring_watches&) = delete;

    bool has(int fd, readiness direction) const noexcept {
        return fd >= 0 && static_cast<std::size_t>(fd) < by_fd_.size() &&
               by_fd_[static_cast<std::size_t>(fd)][index_of(direction)] != nullptr;
    }
    // For a valid descriptor, in a direction that is not watched.
    uring_watch& add(fd_watch& watcher, int fd, readiness direction) {
        if (static_cast<std::size_t>(fd) >= by_fd_.size()) {
            by_fd_.resize(static_cast<std::size_t>(fd) + 1);
        }
        if (spare_ == nullptr) {
            all_.push_back(std::make_unique<uring_watch>());
            spare_ = all_.back().get();
        }
        uring_watch& added = *spare_;
        spare_ = added.next_spare;
        added = {&watcher, fd, direction};
        place(added) = &added;
        return added;
    }
    // The watcher is not called any more; the completion is still outstanding.
    uring_watch& forget(int fd, readiness direction) noexcept {
        uring_watch& forgotten = *by_fd_[static_cast<std::size_t>(fd)][index_of(direction)];
        place(forgotten) = nullptr;
        forgotten.watcher = nullptr;
        return forgotten;
    }
    // The completion has arrived. Returns the watcher to call; null if it was forgotten.
    fd_watch* remove(uring_watch& ended) noexcept {
        fd_watch* const watcher = ended.watcher;
        if (watcher != nullptr) {
            place(ended) = nullptr;
        }
        ended.next_spare = spare_;
        spare_ = &ended;
        return watcher;
    }

private:
    static std::size_t index_of(readiness direction) noexcept {
        return direction == readiness::readable ? 0 : 1;
    }
    uring_watch*& place(const uring_watch& watch) noexcept {
        return by_fd_[static_cast<std::size_t>(watch.fd)][index_of(watch.direction)];
    }

    std::vector<std::array<uring_watch*, 2>> by_fd_;  // without the forgotten ones
    std::vector<std::unique_ptr<uring_watch>> all_;
    uring_watch* spare_ = nullptr;
};

// The error that epoll reports at once and a poll by io_uring does not: the descriptor is invalid,
// or of a kind that is always ready. 0 if it can be watched.
inline int watch_error(int fd) noexcept {
    struct stat about{};
    if (::fstat(fd, &about) != 0) {
        return errno;
    }
    return S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) ? EPERM : 0;
}

}  // namespace weir::io::detail
