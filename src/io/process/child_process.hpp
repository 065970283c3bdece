// SPDX-License-Identifier: MIT
// One child of this process: its pidfd, and how it ended.
#pragma once

#include <weir/io/process.hpp>

#include <string>

namespace weir::detail {

// Closes the descriptor when it is destroyed.
class file_handle {
public:
    file_handle() noexcept = default;
    explicit file_handle(int owned) noexcept : fd_(owned) {}
    file_handle(file_handle&& other) noexcept : fd_(other.release()) {}
    file_handle& operator=(file_handle&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~file_handle();
    int fd() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_ = -1;
};

// Shared by the process object and the tasks that wait for it. If the last of them goes before the
// child has ended, the reaper takes the child over.
class child_process {
public:
    child_process(int pid, file_handle pidfd, std::string program, const process_options& options)
        : program_(std::move(program)),
          pidfd_(std::move(pidfd)),
          pid_(pid),
          grace_(options.grace),
          has_group_(options.own_group) {}
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process();

    static task<exit_status> wait(std::shared_ptr<child_process> self);
    static task<exit_status> terminate(std::shared_ptr<child_process> self);
    bool kill(int signal) noexcept;

    // The child has ended, and the system does not report how.
    void lose() noexcept { has_ended_ = is_lost_ = true; }

    const std::string& program() const noexcept { return program_; }
    int pid() const noexcept { return pid_; }

private:
    bool reap();                        // true when it has ended
    const exit_status& status() const;  // throws if the status is lost
    task<void> await_end();

    std::string program_;
    file_handle pidfd_;
    int pid_;
    clock::duration grace_;
    exit_status status_;
    bool has_group_;
    bool has_ended_ = false;
    bool is_lost_ = false;
    bool is_watched_ = false;  // a task waits for the pidfd itself
};

// The parameters of a child's start: checked, and independent of the caller's arguments.
struct child_streams {
    io::pipe_writer in;
    io::pipe_reader out;
    io::pipe_reader err;
};
std::shared_ptr<child_process> start_child(const std::vector<std::string>& words,
                                           const process_options& options, child_streams& ours);

// Reaps a killed child that no task waits for; takes the pidfd.
void reap_later(file_handle pidfd) noexcept;
// Makes the running loop wait a moment for such children when it closes.
void reap_with_loop();

}  // namespace weir::detail
