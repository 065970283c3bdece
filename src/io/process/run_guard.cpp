// SPDX-License-Identifier: MIT
// The guard is a copy of the program, made by fork while the program is small, and never runs its
// code: only what is here, with system calls alone, because a lock that another thread held at the
// fork stays locked for ever. It forks a keeper for each tree, which costs less than a fork of the
// program would. It is the reaper of all processes below it: if a keeper is killed, the keeper's
// tree falls to the guard, which kills it. It ends when the program has gone, and all trees.

#include "io/process/process_table.hpp"
#include "io/process/tree_protocol.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>

namespace weir::detail {

namespace {

constexpr int stray_pause = 2;  // ms between two looks for processes of a killed keeper

// The keepers that run, and those whose trees the guard has to end.
class keeper_list {
public:
    bool has_room() noexcept {
        if (size_ < room_) {
            return true;
        }
        const std::size_t room = room_ == 0 ? 256 : 2 * room_;
        void* const ids = memory(room * sizeof(pid_t));
        void* const channels = memory(room * sizeof(int));
        if (ids == nullptr || channels == nullptr) {
            return false;
        }
        if (size_ > 0) {
            std::memcpy(ids, ids_, size_ * sizeof(pid_t));
            std::memcpy(channels, channels_, size_ * sizeof(int));
            ::munmap(ids_, room_ * sizeof(pid_t));
            ::munmap(channels_, room_ * sizeof(int));
        }
        ids_ = static_cast<pid_t*>(ids);
        channels_ = static_cast<int*>(channels);
        room_ = room;
        return true;
    }
    void add(pid_t id, int channel) noexcept {
        ids_[size_] = id;
        channels_[size_++] = channel;
    }
    // The keeper has ended, and so has its tree.
    void remove(std::size_t at) noexcept {
        ::close(channels_[at]);
        --size_;
        ids_[at] = ids_[size_];
        channels_[at] = channels_[size_];
    }
    // The keeper was killed, and its tree is left to the guard.
    void lose(std::size_t at) noexcept {
        ids_[at] = 0;
        ++lost_;
    }
    void remove_lost() noexcept {
        for (std::size_t i = size_; i > 0; --i) {
            if (ids_[i - 1] == 0) {
                remove(i - 1);
            }
        }
        lost_ = 0;
    }
    std::size_t find(pid_t id) const noexcept {
        std::size_t at = 0;
        while (at < size_ && ids_[at] != id) {
            ++at;
        }
        return at;
    }
    bool has(std::size_t at) const noexcept { return at < size_; }
    bool has_lost() const noexcept { return lost_ > 0; }
    std::span<const pid_t> ids() const noexcept { return {ids_, size_}; }

private:
    static void* memory(std::size_t bytes) noexcept {
        void* const made =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return made == MAP_FAILED ? nullptr : made;
    }

    pid_t* ids_ = nullptr;  // 0: lost
    int* channels_ = nullptr;
    std::size_t size_ = 0;
    std::size_t room_ = 0;
    std::size_t lost_ = 0;
};

class guard {
public:
    explicit guard(int control) noexcept : control_(control), children_(watch_children()) {}

    [[noreturn]] void run() noexcept {
        int quiet_looks = 0;  // at strays: a process that forks during a look may be missed
        for (;;) {
            pollfd states[] = {{children_, POLLIN, 0}, {control_, POLLIN, 0}};
            ::poll(states, control_ >= 0 ? 2 : 1, keepers_.has_lost() ? stray_pause : -1);
            if (control_ >= 0 && states[1].revents != 0) {
                accept();
            }
            const bool has_children = reap();
            if (keepers_.has_lost()) {
                const bool is_quiet = signal_descendants(table_, SIGKILL, keepers_.ids()) == 0;
                quiet_looks = is_quiet ? quiet_looks + 1 : 0;
                if (!has_children || quiet_looks > 1) {
                    keepers_.remove_lost();
                    quiet_looks = 0;
                }
            }
            if (control_ < 0 && !has_children) {
                ::_exit(0);
            }
        }
    }

private:
    // A message with descriptors: a new tree. The end: the program has gone.
    void accept() noexcept {
        char letter = 0;
        iovec text{&letter, 1};
        alignas(cmsghdr) char space[CMSG_SPACE(tree_descriptors * sizeof(int))];
        msghdr message{};
        message.msg_iov = &text;
        message.msg_iovlen = 1;
        message.msg_control = space;
        message.msg_controllen = sizeof space;
        const ssize_t size = ::recvmsg(control_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (size <= 0) {
            ::close(control_);
            control_ = -1;
            return;
        }
        const cmsghdr* const part = CMSG_FIRSTHDR(&message);
        if (part == nullptr) {
            return;
        }
        int given[tree_descriptors];
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::memcpy(given, CMSG_DATA(part), count * sizeof(int));
        if (count == tree_descriptors) {
            start(given);
            return;
        }
        for (std::size_t i = 0; i < count; ++i) {
            ::close(given[i]);  // no more were free: the program sees the end of its channel
        }
    }

    void start(const int (&given)[tree_descriptors]) noexcept {
        const pid_t id = keepers_.has_room() ? ::_Fork() : -1;
        const int error = errno;
        if (id == 0) {
            keep_descriptors(given, tree_descriptors);
            run_keeper();
        }
        if (id > 0) {
            keepers_.add(id, given[channel_fd]);
        } else {
            const tree_event failed{tree_event::failed, error};
            ::send(given[channel_fd], &failed, sizeof failed, MSG_NOSIGNAL | MSG_DONTWAIT);
            ::close(given[channel_fd]);
        }
        for (int i = in_fd; i < tree_descriptors; ++i) {
            ::close(given[i]);
        }
    }

    // False if no child is left.
    bool reap() noexcept {
        clear_child_watch(children_);
        for (;;) {
            int status = 0;
            const pid_t id = ::waitpid(-1, &status, WNOHANG);
            if (id <= 0) {
                return id == 0;
            }
            const std::size_t at = keepers_.find(id);
            if (!keepers_.has(at)) {
                continue;
            }
            if (WIFEXITED(status)) {
                keepers_.remove(at);
            } else {
                keepers_.lose(at);
            }
        }
    }

    int control_;
    int children_;
    keeper_list keepers_;
    process_table table_;
};

}  // namespace

// Two steps: none overwrites a descriptor that is still needed.
void keep_descriptors(const int* from, int count) noexcept {
    constexpr int first = 3;
    int moved[tree_descriptors];
    for (int i = 0; i < count; ++i) {
        moved[i] = ::fcntl(from[i], F_DUPFD_CLOEXEC, first + count);
    }
    for (int i = 0; i < count; ++i) {
        ::dup3(moved[i], first + i, O_CLOEXEC);
    }
    ::closefrom(first + count);
}

int watch_children() noexcept {
    sigset_t ended;
    ::sigemptyset(&ended);
    ::sigaddset(&ended, SIGCHLD);
    return ::signalfd(-1, &ended, SFD_NONBLOCK | SFD_CLOEXEC);
}

void clear_child_watch(int fd) noexcept {
    signalfd_siginfo about;
    while (::read(fd, &about, sizeof about) > 0) {
    }
}

// A session of its own: signals to the program's group, such as ^C, are not for the guard.
void run_guard(int control) noexcept {
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::signal(SIGCHLD, SIG_DFL);  // where it is ignored, nobody learns how a child has ended
    keep_descriptors(&control, 1);
    const int null = ::open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; ++i) {
        ::dup2(null, i);
    }
    ::close(null);
    guard(3).run();
}

}  // namespace weir::detail
