// SPDX-License-Identifier: MIT
// Reaps children that were killed and that no task waits for. A thread, which exists only while
// there are such children, waits for them to end, so that no loop has to and no zombie stays. A
// loop that closes waits for the thread a little, to leave no descriptor behind.

#include "io/process/child_process.hpp"

#include <weir/loop.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::detail {

namespace {

bool has_ended(int pidfd) noexcept {
    siginfo_t about{};
    return ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &about, WEXITED | WNOHANG) != 0 ||
           about.si_pid != 0;
}

class reaper {
public:
    // Never destroyed: its thread may outlive main.
    static reaper& instance() {
        static reaper& only = *new reaper;
        return only;
    }

    void take(file_handle pidfd) {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(pidfd));
        if (!is_running_) {
            start();
        }
    }

    void wait_until_idle(std::chrono::milliseconds limit) {
        std::unique_lock lock(mutex_);
        is_idle_.wait_for(lock, limit, [this] { return waiting_.empty(); });
    }

private:
    // Other threads handle signals.
    void start() {
        sigset_t all;
        sigset_t former;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &former);
        try {
            std::thread([this] { run(); }).detach();
            is_running_ = true;
        } catch (...) {
            // No thread could be started: tried again with the next child.
        }
        ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
    }

    void run() {
        constexpr int look_again = 20;  // ms; there may be new children
        std::unique_lock lock(mutex_);
        while (!waiting_.empty()) {
            std::vector<pollfd> states;
            for (const file_handle& each : waiting_) {
                states.push_back({each.fd(), POLLIN, 0});
            }
            lock.unlock();
            ::poll(states.data(), states.size(), look_again);
            lock.lock();
            std::erase_if(waiting_, [](const file_handle& each) { return has_ended(each.fd()); });
        }
        is_running_ = false;
        is_idle_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable is_idle_;
    std::vector<file_handle> waiting_;
    bool is_running_ = false;
};

struct reaping final : loop_service {
    explicit reaping(loop&) {}
    ~reaping() override { reaper::instance().wait_until_idle(std::chrono::milliseconds(500)); }
};

}  // namespace

void reap_later(file_handle pidfd) noexcept {
    if (!has_ended(pidfd.fd())) {
        reaper::instance().take(std::move(pidfd));
    }
}

void reap_with_loop() {
    if (loop* running = loop::current_or_null()) {
        running->service<reaping>();
    }
}

}  // namespace weir::detail
