// SPDX-License-Identifier: MIT
// A child has a pidfd, which becomes readable when the child has ended: waiting for the child is
// waiting for a descriptor. The task that notices the end first reaps the child.

#include "io/process/plain_child.hpp"

#include "io/process/process_group.hpp"

#include <weir/io/blocking.hpp>
#include <weir/io/error.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace weir::detail {

plain_child::~plain_child() {
    if (!has_ended_) {
        kill(SIGKILL);
        reap_later(std::move(watched_));
    }
}

bool plain_child::reap() {
    if (has_ended_) {
        return true;
    }
    siginfo_t about{};
    if (::waitid(P_PIDFD, static_cast<id_t>(watched_.fd()), &about, WEXITED | WNOHANG) != 0) {
        if (errno != ECHILD) {
            throw io_error(errno, "wait for " + program_);
        }
        lose();  // other code has reaped it, or SIGCHLD is ignored
        return true;
    }
    if (about.si_pid == 0) {
        return false;
    }
    has_ended_ = true;
    status_ = about.si_code == CLD_EXITED ? exit_status::exited(about.si_status)
                                          : exit_status::killed(about.si_status);
    return true;
}

bool plain_child::kill(int signal) noexcept {
    if (has_ended_) {
        return false;
    }
    // Until the child is reaped, its number cannot become another process's.
    return has_group_ ? ::kill(-pid_, signal) == 0
                      : ::syscall(SYS_pidfd_send_signal, watched_.fd(), signal, nullptr, 0) == 0;
}

// A leader that has ended still holds its group's number until it is reaped.
bool plain_child::needs_ending() {
    return has_group_ ? !has_ended_ : !reap();
}

// As long as a member is left, the number of the group cannot become another one's.
task<void> plain_child::end_group(clock::time_point kill_at) {
    constexpr clock::duration longest_pause = std::chrono::milliseconds(50);
    clock::duration pause = std::chrono::milliseconds(1);
    for (;;) {
        const bool is_left = co_await run_blocking(&has_running_members, pid_);
        if (!is_left) {
            co_return;
        }
        if (now() >= kill_at) {
            ::kill(-pid_, SIGKILL);
            co_return;
        }
        co_await sleep(std::min(pause, kill_at - now()));
        pause = std::min(2 * pause, longest_pause);
    }
}

task<void> plain_child::end() {
    const clock::time_point kill_at = detail::after(now(), grace_);
    kill(SIGTERM);
    auto ended = [&]() -> task<bool> {
        co_await await_news();
        co_return true;
    };
    const bool in_time = co_await timeout_or(grace_, ended(), false);
    if (!in_time) {
        kill(SIGKILL);
        co_await await_news();
    }
    reap();
    if (has_group_) {
        co_await end_group(kill_at);
    }
}

}  // namespace weir::detail
