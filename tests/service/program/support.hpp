// SPDX-License-Identifier: MIT
// The program, called to its end or running as a service.
#pragma once

#include <support/peers/program.hpp>

#include <weir/testing/testing.hpp>
#include <weir/timeout.hpp>

#include <sys/wait.h>

#include <algorithm>

namespace weir_test {

struct program_output {
    int code = -1;
    std::string out;
    std::string err;
};

// To its end. Variables are set in front of those of the test.
inline program_output call(std::vector<std::string> arguments,
                           const std::vector<std::string>& variables = {}) {
    arguments.insert(arguments.begin(), WEIR_PROGRAM);
    const weir::command_result ended = weir::run(run_program(std::move(arguments), variables));
    return {ended.status.code(), ended.out, ended.err};
}

// Fails instead of waiting for ever.
inline weir::task<> in_time(weir::task<> body) {
    co_await weir::timeout(std::chrono::seconds(60), std::move(body));
}

inline bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// A service that runs on a port of its own.
class serving {
public:
    explicit serving(std::vector<std::string> more = {},
                     const std::vector<std::string>& variables = {},
                     const std::string& at = "127.0.0.1:0")
        : program_(folder, command(std::move(more), at), variables) {
        program_.wait_until([this] { return has(program_.out(), "curl"); });
        const std::string greeting = program_.out();
        const std::size_t begin = greeting.find("http");
        url = greeting.substr(begin, greeting.find(',', begin) - begin);
    }

    program_output ask(std::string what, std::vector<std::string> arguments = {},
                       const std::vector<std::string>& variables = {}) const {
        arguments.insert(arguments.begin(), {std::move(what), "--server", url});
        return call(std::move(arguments), variables);
    }
    // SIGTERM; its exit code.
    int end() {
        program_.signal(SIGTERM);
        return wait();
    }
    int wait() {
        int status = 0;
        ::waitpid(program_.pid(), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    void signal(int number) const { program_.signal(number); }
    template <class Condition>
    void wait_until(Condition condition) {
        program_.wait_until(std::move(condition));
    }
    int pid() const { return program_.pid(); }
    std::string out() const { return program_.out(); }
    std::string err() const { return program_.err(); }

    temporary_folder folder;
    std::string url;

private:
    std::vector<std::string> command(std::vector<std::string> more, const std::string& at) const {
        std::vector<std::string> all = {WEIR_PROGRAM, "serve", "--listen", at};
        all.insert(all.end(), more.begin(), more.end());
        if (std::find(more.begin(), more.end(), "--database") == more.end()) {
            all.insert(all.end(), {"--database", (folder / "tasks.db").string()});
        }
        return all;
    }

    running_program program_;
};

}  // namespace weir_test
