// SPDX-License-Identifier: MIT
// Other people's programs, run by tests. A program that is not installed skips the test, or fails
// it where the environment has CI set: there everything must be.
#pragma once

#include <weir/io/process.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

extern char** environ;

namespace weir_test {

// Leaves the running test by the exception with which GoogleTest's own assertions do, so it works
// in coroutines too.
[[noreturn]] inline void leave_test(testing::TestPartResult::Type kind,
                                    const std::string& message) {
    GTEST_MESSAGE_(message.c_str(), kind);
    throw testing::AssertionException(
        testing::TestPartResult(kind, __FILE__, __LINE__, message.c_str()));
}
[[noreturn]] inline void skip_test(const std::string& reason) {
    leave_test(testing::TestPartResult::kSkip, reason);
}

// Skips or fails the running test unless the file exists, which the Debian package brings.
inline void need(const std::filesystem::path& file, std::string_view package) {
    if (!std::filesystem::exists(file)) {
        leave_test(std::getenv("CI") != nullptr ? testing::TestPartResult::kFatalFailure
                                                : testing::TestPartResult::kSkip,
                   file.string() + " is not installed (Debian: " + std::string(package) + ")");
    }
}

// A folder that is removed with the object, with all its contents.
class temporary_folder {
public:
    explicit temporary_folder(
        const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
        std::string name = (parent / "weir-test-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            throw std::system_error(errno, std::system_category(), "mkdtemp");
        }
        path_ = name;
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() {
        // Children of a killed program may still write in between: try once more.
        for (int attempt = 0; attempt < 10; ++attempt) {
            std::error_code error;
            std::filesystem::remove_all(path_, error);
            if (!error) {
                return;
            }
            usleep(10'000);
        }
    }

    const std::filesystem::path& path() const noexcept { return path_; }
    std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
    // A file of that text, in folders that are made for it; gives its path.
    std::filesystem::path write(std::string_view name, std::string_view text) const {
        const std::filesystem::path file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << text;
        return file;
    }
    // Nothing, if there is none.
    std::string read(std::string_view name) const {
        std::ifstream file(path_ / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    std::filesystem::path path_;
};

// The command, made to end when the thread that starts it does: also when the test is killed.
inline std::vector<std::string> mortal(std::vector<std::string> command) {
    std::vector<std::string> words{"setpriv", "--pdeathsig", "KILL", "--"};
    words.insert(words.end(), std::make_move_iterator(command.begin()),
                 std::make_move_iterator(command.end()));
    return words;
}

// A program that runs as long as the object, in a folder and a process group of its own. It needs
// no loop, and blocks for as long as starting takes. Its output is kept in files, so it never waits
// for a reader. It inherits no descriptor, other than `inherited`, which becomes its number 3.
class running_program {
public:
    running_program(const temporary_folder& folder, std::vector<std::string> command,
                    const std::vector<std::string>& variables = {}, int inherited = -1)
        : folder_(folder), name_(command.front()) {
        std::vector<std::string> words = mortal(std::move(command));
        std::vector<char*> arguments = pointers(words);
        std::vector<std::string> all = variables;
        for (char** each = environ; *each != nullptr; ++each) {
            all.emplace_back(*each);
        }
        std::vector<char*> environment = pointers(all);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
        const int fresh = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
        posix_spawn_file_actions_addopen(&files, 1, (folder / "out").c_str(), fresh, 0600);
        posix_spawn_file_actions_addopen(&files, 2, (folder / "err").c_str(), fresh, 0600);
        if (inherited >= 0) {
            posix_spawn_file_actions_adddup2(&files, inherited, 3);
        }
        posix_spawn_file_actions_addclosefrom_np(&files, inherited >= 0 ? 4 : 3);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
        const int error = posix_spawnp(&process_, words[0].c_str(), &files, &attributes,
                                       arguments.data(), environment.data());
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&files);
        if (error != 0) {
            throw std::system_error(error, std::system_category(), words[0]);
        }
    }
    running_program(const running_program&) = delete;
    running_program& operator=(const running_program&) = delete;
    ~running_program() { stop(); }

    bool is_running() {
        if (process_ > 0 && waitpid(process_, nullptr, WNOHANG) == process_) {
            process_ = -1;
        }
        return process_ > 0;
    }
    void signal(int number) const { kill(process_, number); }
    void stop() noexcept {
        if (process_ > 0) {
            kill(-process_, SIGKILL);
            waitpid(process_, nullptr, 0);
            process_ = -1;
        }
    }
    int pid() const noexcept { return process_; }
    std::string out() const { return folder_.read("out"); }
    std::string err() const { return folder_.read("err"); }

    // Waits until the condition holds. Throws, with the program's output, if it ends or takes too
    // long.
    template <class Condition>
    void wait_until(Condition condition) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
        while (!condition()) {
            const bool runs = is_running();
            if (!runs || std::chrono::steady_clock::now() > end) {
                throw std::runtime_error(name_ +
                                         (runs ? " is not ready after 15 s" : " has ended") +
                                         "; it said: " + out() + err());
            }
            usleep(2'000);
        }
    }

private:
    static std::vector<char*> pointers(std::vector<std::string>& words) {
        std::vector<char*> made;
        for (std::string& each : words) {
            made.push_back(each.data());
        }
        made.push_back(nullptr);
        return made;
    }

    const temporary_folder& folder_;
    std::string name_;
    pid_t process_ = -1;
};

// Runs a program to its end, on the loop of the caller.
inline weir::task<weir::command_result> run_program(std::vector<std::string> command,
                                                    std::vector<std::string> variables = {},
                                                    std::string input = {}) {
    const std::vector<std::string> words = mortal(std::move(command));
    weir::command_options options;
    options.environment = variables;
    options.input = input;
    options.own_group = true;
    weir::command_result result = co_await weir::run_command(words, options);
    co_return result;
}

}  // namespace weir_test
