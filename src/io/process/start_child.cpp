// SPDX-License-Identifier: MIT
// posix_spawn starts the program: it does the work between fork and exec without copying the
// address space, and reports a failed exec. All preparation happens before it. The descriptors for
// the child are duplicated to numbers above those they will have, so that no assignment overwrites
// the source of another.

#include "io/process/child_process.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

namespace weir::detail {

namespace {

using kind = child_stream::kind;

void check_text(const std::string& text, const char* what) {
    if (text.find('\0') != std::string::npos) {
        throw invalid_argument(std::string("process: ") + what + " '" + text.c_str() +
                               "' goes on after a zero byte");
    }
}

void check(const std::vector<std::string>& words, const process_options& options) {
    if (words.empty() || words.front().empty()) {
        throw invalid_argument("process: the command is empty");
    }
    for (const std::string& word : words) {
        check_text(word, "the word");
    }
    for (const std::string& variable : options.environment) {
        check_text(variable, "the variable");
        const std::size_t sign = variable.find('=');
        if (sign == std::string::npos || sign == 0) {
            throw invalid_argument("process: environment has '" + variable +
                                   "', which is not of the form NAME=value");
        }
    }
    check_text(std::string(options.directory), "the directory");
    if (options.grace < clock::duration::zero()) {
        throw invalid_argument("process: grace is negative; 0 means SIGKILL right after SIGTERM");
    }
    if (options.in.what == kind::to_out || options.out.what == kind::to_out) {
        throw invalid_argument("process: stdio::to_out is for err only");
    }
}

std::vector<std::string> environment_of(const process_options& options) {
    std::map<std::string, std::string> by_name;
    auto add = [&](std::string_view variable) {
        by_name.insert_or_assign(std::string(variable.substr(0, variable.find('='))),
                                 std::string(variable));
    };
    for (char** each = environ; options.inherit_environment && *each != nullptr; ++each) {
        add(*each);
    }
    for (const std::string& each : options.environment) {
        add(each);
    }
    std::vector<std::string> made;
    for (auto& [name, variable] : by_name) {
        made.push_back(std::move(variable));
    }
    return made;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const std::string& each : texts) {
        pointers.push_back(const_cast<char*>(each.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

struct failed_start {
    const std::string& attempt;
    [[noreturn]] void operator()(int error) const { throw io_error(error, attempt); }
};

// posix_spawn's objects, and the descriptors for the child.
class spawn_plan {
public:
    explicit spawn_plan(const std::string& attempt) : fail_{attempt} {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
    }
    spawn_plan(const spawn_plan&) = delete;
    spawn_plan& operator=(const spawn_plan&) = delete;
    ~spawn_plan() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }

    void give(int number, int from) {
        constexpr int above = 10;
        file_handle moved(::fcntl(from, F_DUPFD_CLOEXEC, above));
        if (moved.fd() < 0) {
            fail_(errno);
        }
        check(::posix_spawn_file_actions_adddup2(&actions_, moved.fd(), number));
        kept_[number] = std::move(moved);
    }
    void merge(int number, int into) {
        check(::posix_spawn_file_actions_adddup2(&actions_, into, number));
    }
    // The last actions: after the descriptors are in place.
    void finish(const process_options& options) {
        check(::posix_spawn_file_actions_addclosefrom_np(&actions_, 3));
        if (!options.directory.empty()) {
            const std::string directory(options.directory);
            check(::posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str()));
        }
        sigset_t set;
        ::sigemptyset(&set);
        check(::posix_spawnattr_setsigmask(&attributes_, &set));
        // All bits: sigfillset leaves out two signals that the C library uses, and the child would
        // ignore them.
        std::memset(&set, 0xff, sizeof set);
        check(::posix_spawnattr_setsigdefault(&attributes_, &set));
        check(::posix_spawnattr_setpgroup(&attributes_, 0));
        const int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                          (options.own_group ? POSIX_SPAWN_SETPGROUP : 0);
        check(::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags)));
    }
    pid_t spawn(const std::vector<std::string>& words, const std::vector<std::string>& variables) {
        const std::vector<char*> arguments = pointers_to(words);
        const std::vector<char*> environment = pointers_to(variables);
        pid_t pid = 0;
        check(::posix_spawnp(&pid, arguments[0], &actions_, &attributes_, arguments.data(),
                             environment.data()));
        return pid;
    }

private:
    void check(int error) const {
        if (error != 0) {
            fail_(error);
        }
    }

    failed_start fail_;
    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
    file_handle kept_[3];
};

// Sets up one standard stream. Returns our end of its pipe, if it has one.
file_handle arrange(spawn_plan& plan, int number, const child_stream& stream,
                    const failed_start& fail) {
    switch (stream.what) {
        case kind::inherit:
            break;
        case kind::to_out:
            plan.merge(number, 1);
            break;
        case kind::descriptor:
            plan.give(number, stream.fd);
            break;
        case kind::null: {
            const file_handle null(::open("/dev/null", O_RDWR | O_CLOEXEC));
            if (null.fd() < 0) {
                fail(errno);
            }
            plan.give(number, null.fd());
            break;
        }
        case kind::pipe: {
            int ends[2];
            if (::pipe2(ends, O_CLOEXEC) != 0) {
                fail(errno);
            }
            file_handle reader(ends[0]);
            file_handle writer(ends[1]);
            plan.give(number, number == 0 ? reader.fd() : writer.fd());
            return number == 0 ? std::move(writer) : std::move(reader);
        }
    }
    return file_handle();
}

}  // namespace

std::shared_ptr<child_process> start_child(const std::vector<std::string>& words,
                                           const process_options& options, child_streams& ours) {
    check(words, options);
    const std::string attempt =
        "cannot start " + words.front() +
        (options.directory.empty() ? std::string() : " in " + std::string(options.directory));
    const failed_start fail{attempt};
    const std::vector<std::string> variables = environment_of(options);
    spawn_plan plan(attempt);
    file_handle in = arrange(plan, 0, options.in, fail);
    file_handle out = arrange(plan, 1, options.out, fail);
    file_handle err = arrange(plan, 2, options.err, fail);
    plan.finish(options);
    if (in.fd() >= 0) {
        ours.in = io::pipe_writer(in.fd());
        in.release();
    }
    if (out.fd() >= 0) {
        ours.out = io::pipe_reader(out.fd());
        out.release();
    }
    if (err.fd() >= 0) {
        ours.err = io::pipe_reader(err.fd());
        err.release();
    }
    reap_with_loop();
    const pid_t pid = plan.spawn(words, variables);
    file_handle pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const bool is_gone = pidfd.fd() < 0 && errno == ESRCH;  // where SIGCHLD is ignored
    if (pidfd.fd() < 0 && !is_gone) {  // a kernel before 5.3, or no descriptor left
        const int error = errno;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        fail(error);
    }
    auto started = std::make_shared<child_process>(pid, std::move(pidfd), words.front(), options);
    if (is_gone) {
        started->lose();
    }
    return started;
}

}  // namespace weir::detail
