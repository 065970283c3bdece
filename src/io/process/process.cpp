// SPDX-License-Identifier: MIT
// A child has a pidfd, which becomes readable when the child has ended: waiting for the child is
// waiting for a descriptor. Two tasks cannot wait for the same descriptor, so a second wait uses a
// duplicate; the first one needs none, and works even if no descriptors are left. The task that
// notices the end first reaps the child.

#include "io/process/child_process.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/finally.hpp>
#include <weir/gather.hpp>
#include <weir/io/error.hpp>
#include <weir/timeout.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace weir {

namespace detail {

file_handle::~file_handle() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

child_process::~child_process() {
    if (!has_ended_) {
        kill(SIGKILL);
        reap_later(std::move(pidfd_));
    }
}

bool child_process::reap() {
    if (has_ended_) {
        return true;
    }
    siginfo_t about{};
    if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.fd()), &about, WEXITED | WNOHANG) != 0) {
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

const exit_status& child_process::status() const {
    if (is_lost_) {
        throw io_error(ECHILD, "wait for " + program_);
    }
    return status_;
}

bool child_process::kill(int signal) noexcept {
    if (has_ended_) {
        return false;
    }
    // Until the child is reaped, its number cannot become another process's.
    return has_group_ ? ::kill(-pid_, signal) == 0
                      : ::syscall(SYS_pidfd_send_signal, pidfd_.fd(), signal, nullptr, 0) == 0;
}

task<void> child_process::await_end() {
    if (!is_watched_) {
        struct watch {
            explicit watch(bool& set) noexcept : is_on(set) { is_on = true; }
            watch(const watch&) = delete;
            watch& operator=(const watch&) = delete;
            ~watch() { is_on = false; }
            bool& is_on;
        };
        const watch own(is_watched_);
        co_await wait_readable(pidfd_.fd());
        co_return;
    }
    const file_handle own(::fcntl(pidfd_.fd(), F_DUPFD_CLOEXEC, 0));
    if (own.fd() < 0) {
        throw io_error(errno, "wait for " + program_);
    }
    co_await wait_readable(own.fd());
}

task<exit_status> child_process::wait(std::shared_ptr<child_process> self) {
    if (!self->reap()) {
        auto end_it = [&](ending result) -> task<> {
            if (result == ending::stopped) {
                co_await terminate(self);
            }
        };
        co_await finally(self->await_end(), end_it);
        self->reap();
    }
    co_return self->status();
}

task<exit_status> child_process::terminate(std::shared_ptr<child_process> self) {
    auto ending_it = [&]() -> task<> {
        self->kill(SIGTERM);
        auto ended = [&]() -> task<bool> {
            co_await self->await_end();
            co_return true;
        };
        const bool in_time = co_await timeout_or(self->grace_, ended(), false);
        if (!in_time) {
            self->kill(SIGKILL);
            co_await self->await_end();
        }
        self->reap();
    };
    if (!self->reap()) {
        co_await shield(ending_it());
    }
    co_return self->status();
}

}  // namespace detail

std::string exit_status::text() const {
    if (signal_ == 0) {
        return "exited with code " + std::to_string(code_);
    }
    const char* name = ::sigdescr_np(signal_);
    return "was ended by signal " + std::to_string(signal_) +
           (name != nullptr ? std::string(" (") + name + ")" : std::string());
}

void process::start(const std::vector<std::string>& words, const process_options& options) {
    detail::child_streams ours;
    child_ = detail::start_child(words, options, ours);
    in_ = std::move(ours.in);
    out_ = std::move(ours.out);
    err_ = std::move(ours.err);
}

process& process::operator=(process&& other) noexcept {
    process taken(std::move(other));
    std::swap(child_, taken.child_);
    std::swap(in_, taken.in_);
    std::swap(out_, taken.out_);
    std::swap(err_, taken.err_);
    return *this;
}

process::~process() {
    if (child_ != nullptr) {
        child_->kill(SIGKILL);  // tasks that wait for it may share it
    }
}

detail::child_process& process::checked() const {
    if (child_ == nullptr) {
        throw invalid_state("there is no process: it was never started, or moved from");
    }
    return *child_;
}

int process::pid() const {
    return checked().pid();
}

namespace {

template <class Pipe>
Pipe& piped(Pipe& end, const detail::child_process& child, const char* what) {
    if (!end.is_open()) {
        throw invalid_state(std::string("the standard ") + what + " of " + child.program() +
                            " is no pipe, or was closed");
    }
    return end;
}

}  // namespace

io::pipe_writer& process::in() {
    return piped(in_, checked(), "input");
}
io::pipe_reader& process::out() {
    return piped(out_, checked(), "output");
}
io::pipe_reader& process::err() {
    return piped(err_, checked(), "error");
}

task<exit_status> process::wait() {
    checked();
    return detail::child_process::wait(child_);
}

task<exit_status> process::terminate() {
    checked();
    return detail::child_process::terminate(child_);
}

bool process::kill(int signal) {
    if (signal < 1 || signal > 64) {
        throw invalid_argument("process.kill: " + std::to_string(signal) + " is no signal number");
    }
    return checked().kill(signal);
}

namespace {

// A child that does not read all its input is no error.
task<void> feed(io::pipe_writer& into, const std::string& input) {
    try {
        co_await into.write(input);
    } catch (const io_error& error) {
        if (error.code() != std::errc::broken_pipe) {
            throw;
        }
    }
    into.close();
}

task<void> collect(io::pipe_reader& from, std::string& into, std::size_t limit,
                   std::string program) {
    try {
        into = co_await io::read_all(from, limit);
    } catch (const limit_exceeded&) {
        throw limit_exceeded("run_command: " + program + " has printed more than " +
                             std::to_string(limit) + " bytes");
    }
}

task<command_result> run_owned(process child, std::string program, std::string input,
                               std::size_t limit, bool has_err) {
    command_result result;
    auto talk = [&]() -> task<> {
        std::vector<task<>> parts;
        if (!input.empty()) {
            parts.push_back(feed(child.in(), input));
        }
        parts.push_back(collect(child.out(), result.out, limit, program));
        if (has_err) {
            parts.push_back(collect(child.err(), result.err, limit, program));
        }
        co_await gather(std::move(parts));
        result.status = co_await child.wait();
    };
    auto end_it = [&](ending result) -> task<> {
        if (result != ending::value) {
            co_await child.terminate();
        }
    };
    co_await finally(talk(), end_it);
    co_return result;
}

// The child starts when the task is awaited.
task<command_result> run_later(std::vector<std::string> words, std::string input,
                               std::string directory, std::vector<std::string> environment,
                               command_options run_options) {
    process child;
    {
        process_options options;
        options.in = input.empty() ? stdio::null : stdio::pipe;
        options.out = stdio::pipe;
        options.err = run_options.err;
        options.directory = directory;
        options.environment = environment;
        options.inherit_environment = run_options.inherit_environment;
        options.own_group = run_options.own_group;
        options.grace = run_options.grace;
        child = process(words, options);
    }
    const bool has_err = run_options.err.what == child_stream::kind::pipe;
    co_return co_await run_owned(std::move(child), words.front(), std::move(input),
                                 run_options.output_limit, has_err);
}

}  // namespace

task<command_result> run_command(const command_line& command, const command_options& options) {
    return run_later(
        command.words(), std::string(options.input), std::string(options.directory),
        std::vector<std::string>(options.environment.begin(), options.environment.end()), options);
}

}  // namespace weir
