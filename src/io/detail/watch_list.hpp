// SPDX-License-Identifier: MIT
// The watches that io_uring knows of.
#pragma once

#include <weir/driver.hpp>

#include <sys/stat.h>

#include <cerrno>

namespace weir::io::detail {

// A watch is one poll. It is freed by its completion, also when nobody waits for it any more.
struct watch_entry {
    fd_watch* watcher;  // null: forgotten
    int fd;
    readiness direction;
    watch_entry* next = nullptr;
    watch_entry* before = nullptr;
};

// Owns them, so that none is lost whose completion nobody is there to see.
class watch_list {
public:
    watch_list() noexcept = default;
    watch_list(const watch_list&) = delete;
    watch_list& operator=(const watch_list&) = delete;
    ~watch_list() {
        while (head_ != nullptr) {
            remove(*head_);
        }
    }

    watch_entry* add(fd_watch& watcher, int fd, readiness direction) {
        auto* const added = new watch_entry{&watcher, fd, direction, head_};
        if (head_ != nullptr) {
            head_->before = added;
        }
        return head_ = added;
    }
    void remove(watch_entry& ended) noexcept {
        (ended.before != nullptr ? ended.before->next : head_) = ended.next;
        if (ended.next != nullptr) {
            ended.next->before = ended.before;
        }
        delete &ended;
    }

private:
    watch_entry* head_ = nullptr;
};

// What epoll says at once, and a poll by io_uring would not: that the descriptor is bad, or of a kind
// that is always ready. 0 if there is nothing to say.
inline int why_not_watchable(int fd) noexcept {
    struct stat about{};
    if (::fstat(fd, &about) != 0) {
        return errno;
    }
    return S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) ? EPERM : 0;
}

}  // namespace weir::io::detail
