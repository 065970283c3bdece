// SPDX-License-Identifier: MIT
// The watches that io_uring knows of.
#pragma once

#include <weir/driver.hpp>

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <vector>

namespace weir::io::detail {

// A watch is one poll. It is used again after its completion, also when nobody waits for it any
// more.
struct watch_entry {
    fd_watch* watcher;  // null: forgotten
    int fd;
    readiness direction;
    watch_entry* next_spare = nullptr;
};

// Owns them, so that none is lost whose completion nobody is there to see. Who watches again and
// again, as a client of HTTP does, allocates nothing.
class watch_list {
public:
    watch_list() noexcept = default;
    watch_list(const watch_list&) = delete;
    watch_list& operator=(const watch_list&) = delete;

    bool has(int fd, readiness direction) const noexcept {
        return fd >= 0 && static_cast<std::size_t>(fd) < by_fd_.size() &&
               by_fd_[static_cast<std::size_t>(fd)][index_of(direction)] != nullptr;
    }
    // Of a descriptor that there is, and for a direction that has none.
    watch_entry& add(fd_watch& watcher, int fd, readiness direction) {
        if (static_cast<std::size_t>(fd) >= by_fd_.size()) {
            by_fd_.resize(static_cast<std::size_t>(fd) + 1);
        }
        if (spare_ == nullptr) {
            all_.push_back(std::make_unique<watch_entry>());
            spare_ = all_.back().get();
        }
        watch_entry& added = *spare_;
        spare_ = added.next_spare;
        added = {&watcher, fd, direction};
        place(added) = &added;
        return added;
    }
    // Its completion comes nevertheless.
    watch_entry& forget(int fd, readiness direction) noexcept {
        watch_entry& forgotten = *by_fd_[static_cast<std::size_t>(fd)][index_of(direction)];
        place(forgotten) = nullptr;
        forgotten.watcher = nullptr;
        return forgotten;
    }
    // Its completion has come; gives who waits for it, if somebody does.
    fd_watch* remove(watch_entry& ended) noexcept {
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
    watch_entry*& place(const watch_entry& of) noexcept {
        return by_fd_[static_cast<std::size_t>(of.fd)][index_of(of.direction)];
    }

    std::vector<std::array<watch_entry*, 2>> by_fd_;  // those that somebody waits for
    std::vector<std::unique_ptr<watch_entry>> all_;
    watch_entry* spare_ = nullptr;
};

// What epoll says at once, and a poll by io_uring would not: that the descriptor is bad, or of a
// kind that is always ready. 0 if there is nothing to say.
inline int why_not_watchable(int fd) noexcept {
    struct stat about{};
    if (::fstat(fd, &about) != 0) {
        return errno;
    }
    return S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) ? EPERM : 0;
}

}  // namespace weir::io::detail
