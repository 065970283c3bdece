// SPDX-License-Identifier: MIT
// One child of this process, or one contained tree: the descriptor that tells its end, and how it
// ended. plain_child and tree_child say what that descriptor is and how signals are sent.
#pragma once

#include <weir/io/process.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// Shared by the process object and the tasks that wait for it.
class child_process {
public:
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    virtual ~child_process() = default;

    static task<exit_status> wait(std::shared_ptr<child_process> self);
    static task<exit_status> terminate(std::shared_ptr<child_process> self);
    virtual bool kill(int signal) noexcept = 0;
    // Returns when the program is loaded; throws io_error if it cannot be started.
    virtual task<void> loaded() { co_return; }
    // The same, and blocks this thread meanwhile.
    virtual void load_blocking() {}

    const std::string& program() const noexcept { return program_; }
    int pid() const noexcept { return pid_; }

protected:
    child_process(int pid, file_handle watched, std::string program) noexcept
        : program_(std::move(program)), watched_(std::move(watched)), pid_(pid) {}

    // Notices the end; true when it has ended.
    virtual bool reap() = 0;
    // True until the end of the child, and of all that terminate() is to end with it.
    virtual bool needs_ending() = 0;
    // Sends SIGTERM, SIGKILL after the grace period, and waits.
    virtual task<void> end() = 0;

    // Until the descriptor is readable.
    task<void> await_news();
    task<void> await_end();
    const exit_status& status() const;  // throws if the status is lost

    std::string program_;
    file_handle watched_;
    int pid_;
    exit_status status_;
    bool has_ended_ = false;
    bool is_lost_ = false;  // the system does not report how it ended

private:
    bool is_watched_ = false;  // a task waits for the descriptor itself
};

// Our ends of a child's pipes.
struct child_streams {
    io::pipe_writer in;
    io::pipe_reader out;
    io::pipe_reader err;
};

// Starts the program and, unless it is contained, waits until it is loaded.
std::shared_ptr<child_process> start_child(const std::vector<std::string>& words,
                                           const process_options& options, child_streams& ours);
// The variables that the child gets.
std::vector<std::string> child_environment(const process_options& options);

// Reaps a killed child that no task waits for; takes the pidfd.
void reap_later(file_handle pidfd) noexcept;
// Makes the running loop wait a moment for such children when it closes.
void reap_with_loop();

}  // namespace weir::detail
