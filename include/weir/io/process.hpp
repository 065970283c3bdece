// SPDX-License-Identifier: MIT
// Child processes: started, fed, read, awaited, and never left behind.
//
//     weir::process sorter({"sort", "-u"}, {.in = weir::stdio::pipe, .out = weir::stdio::pipe});
//     co_await sorter.in().write("b\na\nb\n");
//     sorter.in().close();
//     std::string sorted = co_await weir::io::read_all(sorter.out(), 1 << 20);
//     weir::exit_status ended = co_await sorter.wait();
//
// or, where all of it fits into memory,
//
//     weir::command_result listing = co_await weir::run_command({"ls", "-l"}, {.directory = "/tmp"});
//
// A process object that goes away kills its child (SIGKILL), which a thread of its own then reaps:
// no zombie is left, and nothing blocks. Cancelling wait() ends the child in a friendlier way:
// SIGTERM, and SIGKILL when it is still there after the grace period; the cancellation goes on when
// it has ended.
//
// The child gets standard input, output and error and no other descriptor, an empty signal mask and
// default signal dispositions. Programs without a slash in their name are searched for in PATH.
#pragma once

#include <weir/clock.hpp>
#include <weir/io/pipe.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

namespace detail {
class child_process;
}

// Where a standard stream of a child comes from or goes to; the values are in weir::stdio.
struct child_stream {
    enum class kind : unsigned char { inherit, null, pipe, descriptor, to_out };
    kind what = kind::inherit;
    int fd = -1;
};

namespace stdio {
inline constexpr child_stream inherit{};                           // ours
inline constexpr child_stream null{child_stream::kind::null};      // /dev/null
inline constexpr child_stream pipe{child_stream::kind::pipe};      // process::in(), out(), err()
inline constexpr child_stream to_out{child_stream::kind::to_out};  // err: where out goes
// An open one, such as a file's; it is duplicated and stays the caller's.
constexpr child_stream descriptor(int fd) noexcept {
    return {child_stream::kind::descriptor, fd};
}
}  // namespace stdio

// The program and its arguments.
class command_line {
public:
    // No std::initializer_list: GCC 12 has none inside co_await expressions.
    template <std::convertible_to<std::string_view>... Words>
        requires(sizeof...(Words) > 0)
    command_line(const Words&... words) {
        words_.reserve(sizeof...(words));
        (words_.emplace_back(std::string_view(words)), ...);
    }
    command_line(std::vector<std::string> words) noexcept : words_(std::move(words)) {}

    const std::vector<std::string>& words() const noexcept { return words_; }

private:
    std::vector<std::string> words_;
};

struct process_options {
    child_stream in = stdio::inherit;
    child_stream out = stdio::inherit;
    child_stream err = stdio::inherit;
    std::string_view directory{};                // to run in; default: ours
    std::span<const std::string> environment{};  // 'NAME=value', added or in place of ours
    bool inherit_environment = true;             // off: it has nothing but the above
    bool own_group = false;  // a process group of its own; signals go to all of it
    clock::duration grace = std::chrono::seconds(5);  // between SIGTERM and SIGKILL
};

// How a process has ended.
class exit_status {
public:
    exit_status() noexcept = default;
    static exit_status exited(int code) noexcept { return {code, 0}; }
    static exit_status killed(int signal) noexcept { return {-1, signal}; }

    bool success() const noexcept { return code_ == 0; }
    int code() const noexcept { return code_; }      // -1 if a signal ended it
    int signal() const noexcept { return signal_; }  // 0 if it ended by itself
    std::string text() const;  // 'exited with code 2', 'was ended by signal 15 (Terminated)'

    friend bool operator==(const exit_status&, const exit_status&) = default;

private:
    exit_status(int code, int signal) noexcept : code_(code), signal_(signal) {}
    int code_ = 0;
    int signal_ = 0;
};

class process {
public:
    process() noexcept = default;  // none
    // Starts it; blocks this thread until the program is loaded, about a millisecond. Throws
    // io_error ('cannot start frob: No such file or directory'), invalid_argument for an empty
    // command, a zero byte in a word, a malformed variable, a negative grace period. A template so
    // that {"true"} cannot be taken for a process to be moved from.
    template <class Command = command_line>
        requires std::same_as<Command, command_line> ||
                 std::same_as<Command, std::vector<std::string>>
    explicit process(const Command& command, const process_options& how = {}) {
        if constexpr (std::same_as<Command, command_line>) {
            start(command.words(), how);
        } else {
            start(command, how);
        }
    }
    process(process&&) noexcept = default;
    process& operator=(process&& other) noexcept;
    ~process();

    int pid() const;
    // Our ends of its pipes. Throw invalid_state if the stream is no pipe.
    io::pipe_writer& in();
    io::pipe_reader& out();
    io::pipe_reader& err();

    // Until it has ended; the status is kept, so it can be asked again, and by several tasks. Does
    // not read its output: a child that fills a pipe which nobody reads never ends.
    task<exit_status> wait();
    // SIGTERM, SIGKILL after the grace period, and waits. Cancelling is postponed until it has
    // ended.
    task<exit_status> terminate();
    // False if it has ended. Throws invalid_argument for what is no signal.
    bool kill(int signal);

private:
    void start(const std::vector<std::string>& words, const process_options& how);
    detail::child_process& checked() const;

    std::shared_ptr<detail::child_process> child_;  // waiting tasks share it
    io::pipe_writer in_;
    io::pipe_reader out_;
    io::pipe_reader err_;
};

struct command_options {
    std::string_view input{};             // its standard input; empty: /dev/null
    std::size_t output_limit = 16 << 20;  // of each of out and err, in bytes
    child_stream err = stdio::pipe;
    std::string_view directory{};
    std::span<const std::string> environment{};
    bool inherit_environment = true;
    bool own_group = false;
    clock::duration grace = std::chrono::seconds(5);
};

struct command_result {
    exit_status status;
    std::string out;
    std::string err;
};

// Runs a command to its end and collects what it prints. Cancelling ends it as process::wait does.
// Throws what process does when it cannot be started, and limit_exceeded when it prints too much;
// it is then ended too. What failed inside it is told by the status. Everything it needs is copied
// before it returns.
task<command_result> run_command(const command_line& command, const command_options& how = {});

}  // namespace weir
