// SPDX-License-Identifier: MIT
// Guards and keepers are named 'weir:MARK', where MARK stands for the process that they serve. If
// no such process runs, they are at work: they see the end of their channel and kill their trees.
// Contained programs have the mark in the variable WEIR_GUARD. Those without a guard, because it
// was killed together with its program, are killed here.

#include "io/process/process_table.hpp"
#include "io/process/tree_guard.hpp"

#include <weir/io/blocking.hpp>
#include <weir/io/process.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace weir {

namespace detail {

namespace {

// Processes of a container are visible from outside, but marks name them by their numbers inside.
bool is_own_process(pid_t id) {
    struct stat process{};
    struct stat numbers{};
    struct stat own_numbers{};
    const std::string folder = "/proc/" + std::to_string(id);
    return ::stat(folder.c_str(), &process) == 0 && process.st_uid == ::geteuid() &&
           ::stat((folder + "/ns/pid").c_str(), &numbers) == 0 &&
           ::stat("/proc/self/ns/pid", &own_numbers) == 0 && numbers.st_ino == own_numbers.st_ino &&
           numbers.st_dev == own_numbers.st_dev;
}

// The mark in the environment with which the process was started; empty if it has none.
std::string mark_of(pid_t id) {
    std::ifstream file("/proc/" + std::to_string(id) + "/environ", std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();  // reports an error of a process that has just ended as no text
    const std::string text = all.str();
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        const std::string_view variable = std::string_view(text).substr(at, end - at);
        if (variable.starts_with(mark_variable)) {
            return std::string(variable.substr(mark_variable.size()));
        }
        at = end + 1;
    }
    return {};
}

// One round. True if no abandoned process runs. Guards end by themselves, unless they are frozen.
bool end_abandoned(bool also_guards) {
    process_table table;
    if (!table.read()) {
        return true;  // without /proc there is nothing to go by
    }
    std::set<std::string, std::less<>> living;
    for (const process_entry& each : table.all()) {
        if (each.is_running()) {
            living.insert(process_mark(each.id, each.started));
        }
    }
    bool is_done = true;
    for (const process_entry& each : table.all()) {
        const std::string_view name = each.name;
        if (!each.is_running() || !is_own_process(each.id)) {
            continue;
        }
        const bool is_guard = name.starts_with(guard_name_prefix);
        const std::string mark =
            is_guard ? std::string(name.substr(guard_name_prefix.size())) : mark_of(each.id);
        if (mark.empty() || living.contains(mark)) {
            continue;
        }
        is_done = false;
        if (!is_guard || also_guards) {
            signal_process(each, SIGKILL);
        }
    }
    return is_done;
}

}  // namespace

}  // namespace detail

task<> end_abandoned_processes() {
    constexpr clock::duration longest_pause = std::chrono::milliseconds(50);
    constexpr clock::duration patience = std::chrono::seconds(2);  // with guards
    const clock::time_point kill_guards_at = detail::after(now(), patience);
    clock::duration pause = std::chrono::milliseconds(1);
    for (;;) {
        const bool is_done = co_await run_blocking(&detail::end_abandoned, now() >= kill_guards_at);
        if (is_done) {
            co_return;
        }
        co_await sleep(pause);
        pause = std::min(2 * pause, longest_pause);
    }
}

}  // namespace weir
