// SPDX-License-Identifier: MIT
// Another program, with one end of a socket pair as its input and output. Killed with the object.
#pragma once

#include <weir/io/error.hpp>
#include <weir/io/socket.hpp>

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tls_tests {

class child {
public:
    explicit child(std::vector<std::string> command) {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            throw weir::io_error(errno, "socketpair");
        }
        std::vector<char*> arguments;
        for (std::string& each : command) {
            arguments.push_back(each.data());
        }
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        for (const int number : {0, 1, 2}) {
            ::posix_spawn_file_actions_adddup2(&actions, ends[1], number);
        }
        const int error =
            ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        if (error != 0) {
            ::close(ends[0]);
            throw weir::io_error(error, "start " + command[0]);
        }
        talk_ = std::make_shared<weir::io::socket>(ends[0]);
    }
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() {
        kill();
        talk_->close();
    }

    void kill() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(std::exchange(pid_, -1), nullptr, 0);
        }
    }

    weir::io::socket& talk() { return *talk_; }

    // Reads the program's output up to this text, and on to the end of the line.
    weir::task<std::string> hear(std::string what) {
        for (;;) {
            const std::size_t found = heard_.find(what);
            if (found != std::string::npos) {
                const std::size_t end = heard_.find('\n', found);
                if (end != std::string::npos) {
                    co_return heard_.substr(found, end - found);
                }
            }
            char block[4096];
            const std::size_t count = co_await talk_->read(block);
            if (count == 0) {
                throw std::runtime_error("'" + what + "' did not come, but: " + heard_);
            }
            heard_.append(block, count);
        }
    }
    // Reads the rest of the output, so that the program never blocks on a full pipe. Ends with the
    // program or this object.
    weir::task<> drain() { return drain(talk_); }
    // Reads to the end of the output; returns the exit status.
    weir::task<int> finish() {
        char block[4096];
        for (;;) {
            const std::size_t count = co_await talk_->read(block);
            if (count == 0) {
                break;
            }
            heard_.append(block, count);
        }
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        co_return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    const std::string& heard() const { return heard_; }

private:
    static weir::task<> drain(std::shared_ptr<weir::io::socket> from) {
        char block[4096];
        try {
            for (std::size_t count = 1; count > 0;) {
                count = co_await from->read(block);
            }
        } catch (const weir::io_error&) {
        }
    }

    pid_t pid_ = -1;
    std::shared_ptr<weir::io::socket> talk_;
    std::string heard_;
};

}  // namespace tls_tests
