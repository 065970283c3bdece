// SPDX-License-Identifier: MIT
// Child processes: started, written to, read from, awaited, and never left behind.
//
//     weir::process sorter({"sort", "-u"}, {.in = weir::stdio::pipe, .out = weir::stdio::pipe});
//     co_await sorter.in().write("b\na\nb\n");
//     sorter.in().close();
//     std::string sorted = co_await weir::io::read_all(sorter.out(), 1 << 20);
//     weir::exit_status ended = co_await sorter.wait();
//
// or, if input and output fit into memory,
//
//     auto listing = co_await weir::run_command({"ls", "-l"}, {.directory = "/tmp"});
//
// Destroying a process object kills its child (SIGKILL), which a background thread then reaps: no
// zombie is left, and nothing blocks. Cancelling wait() ends the child more gently: SIGTERM, then
// SIGKILL if it still runs after the grace period; the cancellation takes effect when it has ended.
//
// A *contained* child takes everything that it has started with it, including daemons, which leave
// the group and the session of the program: none of these processes runs any more when wait()
// returns, and none survives this program, even if that is killed (SIGKILL). See
// process_options::contained.
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
struct command_start;
}  // namespace detail

// Where a standard stream of a child comes from or goes to; the values are in weir::stdio.
struct child_stream {
    enum class kind : unsigned char { inherit, null, pipe, descriptor, to_out };
    kind what = kind::inherit;
    int fd = -1;
};

namespace stdio {
inline constexpr child_stream inherit{};                           // the parent's
inline constexpr child_stream null{child_stream::kind::null};      // /dev/null
inline constexpr child_stream pipe{child_stream::kind::pipe};      // process::in(), out(), err()
inline constexpr child_stream to_out{child_stream::kind::to_out};  // err: where out goes
// An open descriptor, such as a file's. It is duplicated; the caller keeps it.
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
    std::string_view directory{};                // working directory; default: the parent's
    std::span<const std::string> environment{};  // 'NAME=value', added or replaced
    bool inherit_environment = true;             // off: only `environment`
    // A process group of its own: kill() and terminate() reach all processes in it, also if the
    // child itself has ended. They do so until wait() or terminate() has returned the status; what
    // is left of the group then runs on.
    bool own_group = false;
    // The child and all its descendants are one unit, in a session of its own. wait() returns when
    // none of them runs any more: those that are left when the child has ended get SIGTERM, and
    // SIGKILL after the grace period. terminate() and kill() reach all of them. If this program
    // ends, in whatever way, all are killed. A helper process per loop does this (linux: a child
    // subreaper), which the first contained child starts. Throws invalid_state outside of a loop.
    // Out of reach are only processes that other programs start on request, such as systemd-run.
    bool contained = false;
    clock::duration grace = std::chrono::seconds(5);  // between SIGTERM and SIGKILL
};

// Starts the helper process of contained children for this loop now, while the program is small and
// a copy of it cheap. Optional.
void start_process_guard();
// Ends contained processes of programs of this user that have ended: waits until their helpers have
// killed them, and kills those whose helpers were killed too. For a program that repeats work of a
// killed one, such as itself before a restart.
task<> end_abandoned_processes();

// How a process ended.
class exit_status {
public:
    exit_status() noexcept = default;
    static exit_status exited(int code) noexcept { return {code, 0}; }
    static exit_status killed(int signal) noexcept { return {-1, signal}; }

    bool success() const noexcept { return code_ == 0; }
    int code() const noexcept { return code_; }      // -1 if a signal ended it
    int signal() const noexcept { return signal_; }  // 0 if it exited
    std::string text() const;  // 'exited with code 2', 'was ended by signal 15 (Terminated)'

    friend bool operator==(const exit_status&, const exit_status&) = default;

private:
    exit_status(int code, int signal) noexcept : code_(code), signal_(signal) {}
    int code_ = 0;
    int signal_ = 0;
};

class process {
public:
    process() noexcept = default;  // no process
    // Starts the program; blocks this thread until it is loaded, about a millisecond. Throws
    // io_error ('cannot start frob: No such file or directory'), invalid_argument for an empty
    // command, a zero byte in a word, a malformed variable, a negative grace period. A template, so
    // that {"true"} does not mean a process to move from.
    template <class Command = command_line>
        requires std::same_as<Command, command_line> ||
                 std::same_as<Command, std::vector<std::string>>
    explicit process(const Command& command, const process_options& options = {}) {
        if constexpr (std::same_as<Command, command_line>) {
            start(command.words(), options);
        } else {
            start(command, options);
        }
    }
    process(process&&) noexcept = default;
    process& operator=(process&& other) noexcept;
    ~process();

    int pid() const;
    // Our ends of its pipes. Throw invalid_state if the stream is not a pipe.
    io::pipe_writer& in();
    io::pipe_reader& out();
    io::pipe_reader& err();

    // Waits for the end. May be called again, and by several tasks: the status is kept. Does not
    // read the output: a child that fills a pipe that is not read never ends.
    task<exit_status> wait();
    // Sends SIGTERM, SIGKILL after the grace period, and waits, with own_group for the complete
    // group, with contained for all descendants. A stop is postponed until the child has ended.
    task<exit_status> terminate();
    // Sends a signal; false if a wait has found that the child has ended. Throws invalid_argument
    // for an invalid signal.
    bool kill(int signal);

private:
    friend struct detail::command_start;

    void start(const std::vector<std::string>& words, const process_options& options);
    // Does not wait until the program is loaded.
    void begin(const std::vector<std::string>& words, const process_options& options);
    detail::child_process& checked() const;

    std::shared_ptr<detail::child_process> child_;  // waiting tasks share it
    io::pipe_writer in_;
    io::pipe_reader out_;
    io::pipe_reader err_;
};

struct command_options {
    std::string_view input{};             // standard input; empty: /dev/null
    std::size_t output_limit = 16 << 20;  // bytes, for out and err each
    // Keeps the first output_limit bytes of out and the last ones of err, and reads on, instead of
    // ending a command that prints more.
    bool cut_output = false;
    child_stream err = stdio::pipe;
    std::string_view directory{};
    std::span<const std::string> environment{};
    bool inherit_environment = true;
    bool own_group = false;
    bool contained = false;
    clock::duration grace = std::chrono::seconds(5);
};

struct command_result {
    exit_status status;
    std::string out;
    std::string err;
    bool out_is_cut = false;
    bool err_is_cut = false;
};

// Runs a command to its end and collects its output. Cancelling ends it as process::wait does.
// Throws as process does if it cannot be started, and limit_exceeded if it prints too much; then
// the command is ended too. A failure of the command itself is in the status. The arguments are
// copied.
task<command_result> run_command(const command_line& command, const command_options& options = {});

}  // namespace weir
