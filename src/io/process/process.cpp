// SPDX-License-Identifier: MIT
// A process object owns its child and our ends of the child's pipes.

#include "io/process/child_process.hpp"
#include "io/process/tree_guard.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <csignal>
#include <cstring>

namespace weir {

std::string exit_status::text() const {
    if (signal_ == 0) {
        return "exited with code " + std::to_string(code_);
    }
    const char* name = ::sigdescr_np(signal_);
    return "was ended by signal " + std::to_string(signal_) +
           (name != nullptr ? std::string(" (") + name + ")" : std::string());
}

void process::begin(const std::vector<std::string>& words, const process_options& options) {
    detail::child_streams ours;
    child_ = detail::start_child(words, options, ours);
    in_ = std::move(ours.in);
    out_ = std::move(ours.out);
    err_ = std::move(ours.err);
}

void process::start(const std::vector<std::string>& words, const process_options& options) {
    begin(words, options);
    child_->load_blocking();
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

void start_process_guard() {
    loop::current().service<detail::tree_guard>();
}

}  // namespace weir
