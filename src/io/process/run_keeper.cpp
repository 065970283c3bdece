// SPDX-License-Identifier: MIT
// A keeper starts one program and stays until the program and all its descendants have ended. It
// is their reaper: a process whose parent ends becomes a child of the keeper, also a daemon that
// has left the group and the session. So the tree has ended exactly when the keeper has no child.
//
// What is left when the program has ended gets SIGTERM, then SIGKILL after the grace period. The
// same happens on request. If the channel is closed, SIGKILL is sent at once, again and again until
// nothing is left. As in the guard, there are system calls alone.

#include "io/process/process_table.hpp"
#include "io/process/tree_protocol.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>

namespace weir::detail {

namespace {

constexpr int first_fd = 3;
constexpr int own_channel = first_fd + channel_fd;
constexpr std::int64_t longest_pause = 20;  // ms between two rounds of SIGKILL

std::int64_t milliseconds_now() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void report_event(tree_event::kind what, int value) noexcept {
    const tree_event event{what, value};
    ::send(own_channel, &event, sizeof event, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool receive_all(void* into, std::size_t size) noexcept {
    auto* at = static_cast<char*>(into);
    while (size > 0) {
        const ssize_t count = ::recv(own_channel, at, size, 0);
        if (count <= 0) {
            return false;
        }
        at += count;
        size -= static_cast<std::size_t>(count);
    }
    return true;
}

void* own_memory(std::size_t bytes) noexcept {
    void* const made =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? nullptr : made;
}

// The request, with pointers as execve wants them.
class program_request {
public:
    bool receive() noexcept {
        if (!receive_all(&head_, sizeof head_)) {
            return false;
        }
        const std::size_t pointers = std::size_t{head_.words} + head_.variables + 2;
        texts_ = static_cast<char*>(own_memory(std::size_t{head_.bytes} + 1));
        words_ = static_cast<char**>(own_memory(pointers * sizeof(char*)));
        if (texts_ == nullptr || words_ == nullptr || !receive_all(texts_, head_.bytes)) {
            return false;
        }
        variables_ = words_ + head_.words + 1;
        char* next = texts_ + std::strlen(texts_) + 1;
        fill(words_, head_.words, next);
        fill(variables_, head_.variables, next);
        return true;
    }
    std::int64_t grace() const noexcept { return head_.grace; }
    const char* directory() const noexcept { return texts_; }
    char** words() const noexcept { return words_; }
    char** variables() const noexcept { return variables_; }

private:
    static void fill(char** into, std::uint32_t count, char*& next) noexcept {
        for (std::uint32_t i = 0; i < count; ++i) {
            into[i] = next;
            next += std::strlen(next) + 1;
        }
        into[count] = nullptr;
    }

    tree_request head_{};
    char* texts_ = nullptr;
    char** words_ = nullptr;
    char** variables_ = nullptr;
};

// signal() refuses the two signals that the C library uses; a parent may have ignored them too.
void reset_signals() noexcept {
    const struct {
        void* handler;
        unsigned long flags;
        void* restorer;
        std::uint64_t mask;
    } by_default{};
    constexpr int signals = 64;
    for (int i = 1; i <= signals; ++i) {
        ::syscall(SYS_rt_sigaction, i, &by_default, nullptr, sizeof(std::uint64_t));
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Between fork and exec. Writes errno to `failure` if it fails.
[[noreturn]] void become_program(const program_request& request, pid_t keeper,
                                 int failure) noexcept {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != keeper) {
        ::_exit(1);  // the keeper ended before the line above
    }
    bool is_ready = true;
    for (int i = 0; i < 3; ++i) {
        is_ready = is_ready && ::dup2(first_fd + in_fd + i, i) >= 0;
    }
    is_ready = is_ready && ::fchdir(first_fd + directory_fd) == 0 &&
               (*request.directory() == '\0' || ::chdir(request.directory()) == 0);
    const int error = errno;
    ::dup3(failure, first_fd, O_CLOEXEC);
    ::closefrom(first_fd + 1);
    errno = error;
    if (is_ready) {
        reset_signals();
        ::execvpe(request.words()[0], request.words(), request.variables());
    }
    const int reason = errno;
    // A keeper that has gone cannot be told.
    [[maybe_unused]] const ssize_t told = ::write(first_fd, &reason, sizeof reason);
    ::_exit(1);
}

class keeper {
public:
    [[noreturn]] void run() noexcept {
        children_ = watch_children();
        if (!request_.receive() || has_gone()) {
            ::_exit(0);  // the program that wanted this has ended
        }
        start();
        for (;;) {
            pollfd states[] = {{children_, POLLIN, 0}, {own_channel, POLLIN, 0}};
            ::poll(states, is_open_ ? 2 : 1, pause());
            if (states[1].revents != 0) {
                handle_command();
            }
            reap();
            advance();
        }
    }

private:
    enum class phase : unsigned char { running, terminating, killing };

    static bool has_gone() noexcept {
        pollfd state{own_channel, POLLIN, 0};
        return ::poll(&state, 1, 0) > 0 && (state.revents & POLLHUP) != 0;
    }

    // vfork copies no page tables. Errors come through a pipe, since a sanitizer may have replaced
    // it by fork.
    void start() noexcept {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) {
            fail(errno);
        }
        const pid_t own = ::getpid();
        program_ = ::vfork();
        if (program_ == 0) {
            become_program(request_, own, ends[1]);
        }
        if (program_ < 0) {
            fail(errno);
        }
        for (int i = in_fd; i < tree_descriptors; ++i) {
            ::close(first_fd + i);
        }
        ::close(ends[1]);
        int error = 0;
        if (::read(ends[0], &error, sizeof error) > 0) {
            ::waitpid(program_, nullptr, 0);
            fail(error);
        }
        ::close(ends[0]);
        report_event(tree_event::started, program_);
    }

    [[noreturn]] static void fail(int error) noexcept {
        report_event(tree_event::failed, error);
        ::_exit(0);
    }

    int pause() const noexcept {
        switch (phase_) {
            case phase::running:
                return -1;
            case phase::terminating:
                return static_cast<int>(std::clamp<std::int64_t>(kill_at_ - milliseconds_now(), 0,
                                                                 std::numeric_limits<int>::max()));
            case phase::killing:
                break;
        }
        return static_cast<int>(
            std::clamp<std::int64_t>(next_round_ - milliseconds_now(), 0, longest_pause));
    }

    // Commands of the program behind the channel; its end is one too.
    void handle_command() noexcept {
        unsigned char commands[16];
        const ssize_t count = ::recv(own_channel, commands, sizeof commands, MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (count <= 0) {
            is_open_ = false;
            phase_ = phase::killing;
            return;
        }
        for (ssize_t i = 0; i < count; ++i) {
            if (commands[i] == terminate_command) {
                terminate();
            } else if (commands[i] == SIGKILL) {
                phase_ = phase::killing;
            } else {
                signal_descendants(table_, commands[i]);
            }
        }
    }

    void terminate() noexcept {
        if (phase_ == phase::running) {
            phase_ = phase::terminating;
            const std::int64_t now = milliseconds_now();
            kill_at_ = request_.grace() > std::numeric_limits<std::int64_t>::max() - now
                           ? std::numeric_limits<std::int64_t>::max()
                           : now + request_.grace();
            signal_descendants(table_, SIGTERM);
            signal_descendants(table_,
                               SIGCONT);  // a stopped process gets SIGTERM when it continues
        }
    }

    // Ends this process when no child is left.
    void reap() noexcept {
        clear_child_watch(children_);
        for (;;) {
            int status = 0;
            const pid_t id = ::waitpid(-1, &status, WNOHANG);
            if (id < 0 && errno == ECHILD) {
                ::_exit(0);
            }
            if (id <= 0) {
                break;
            }
            if (id == program_) {
                program_ = -1;
                if (WIFEXITED(status)) {
                    report_event(tree_event::exited, WEXITSTATUS(status));
                } else {
                    report_event(tree_event::killed, WTERMSIG(status));
                }
            }
        }
        if (program_ < 0) {
            terminate();
        }
    }

    void advance() noexcept {
        const std::int64_t now = milliseconds_now();
        if (phase_ == phase::terminating && now >= kill_at_) {
            phase_ = phase::killing;
        }
        if (phase_ == phase::killing && now >= next_round_) {
            const bool is_found = signal_descendants(table_, SIGKILL) > 0;
            pause_ = is_found ? 1 : std::min(2 * pause_, longest_pause);
            next_round_ = milliseconds_now() + pause_;
        }
    }

    program_request request_;
    process_table table_;
    int children_ = -1;
    pid_t program_ = -1;  // until it has ended
    phase phase_ = phase::running;
    bool is_open_ = true;
    std::int64_t kill_at_ = 0;
    std::int64_t next_round_ = 0;
    std::int64_t pause_ = 1;
};

}  // namespace

// A session of its own, for the same reason as the guard.
void run_keeper() noexcept {
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    keeper().run();
}

}  // namespace weir::detail
