// SPDX-License-Identifier: MIT
// posix_spawn starts the program: it does the work between fork and exec without copying the
// address space, and reports a failed exec. All preparation happens before it. The descriptors for
// the child are duplicated to numbers above those they will have, so that no assignment overwrites
// the source of another. Contained programs are started by the loop's guard instead.

#include "io/process/plain_child.hpp"
#include "io/process/tree_child.hpp"
#include "io/process/tree_guard.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <span>
#include <type_traits>

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

// The descriptors that become the child's standard streams, and our ends of the pipes among them.
class stream_plan {
public:
    stream_plan(const process_options& options, const failed_start& fail) : fail_(fail) {
        in_ = arrange(0, options.in);
        out_ = arrange(1, options.out);
        err_ = arrange(2, options.err);
    }

    std::span<const int, 3> sources() const noexcept { return sources_; }
    bool is_inherited(int number) const noexcept { return sources_[number] == number; }
    // A stream of this process that is closed cannot be handed over.
    void replace_closed() {
        for (int i = 0; i < 3; ++i) {
            if (is_inherited(i) && ::fcntl(i, F_GETFD) < 0) {
                open_null(i);
            }
        }
    }
    void take(child_streams& into) {
        const auto adopt = [](file_handle& from, auto& stream) {
            if (from.fd() >= 0) {
                stream = std::remove_reference_t<decltype(stream)>(from.fd());
                from.release();
            }
        };
        adopt(in_, into.in);
        adopt(out_, into.out);
        adopt(err_, into.err);
    }

private:
    // Returns our end of the stream's pipe, if it has one.
    file_handle arrange(int number, const child_stream& stream) {
        sources_[number] = number;
        switch (stream.what) {
            case kind::inherit:
                break;
            case kind::to_out:
                sources_[number] = sources_[1];
                break;
            case kind::descriptor:
                sources_[number] = stream.fd;
                break;
            case kind::null:
                open_null(number);
                break;
            case kind::pipe: {
                int ends[2];
                if (::pipe2(ends, O_CLOEXEC) != 0) {
                    fail_(errno);
                }
                file_handle ours(ends[number == 0 ? 1 : 0]);
                own(number, ends[number == 0 ? 0 : 1]);
                return ours;
            }
        }
        return file_handle();
    }
    void open_null(int number) {
        const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null < 0) {
            fail_(errno);
        }
        own(number, null);
    }
    void own(int number, int fd) {
        opened_[number] = file_handle(fd);
        sources_[number] = fd;
    }

    const failed_start& fail_;
    std::array<int, 3> sources_{};
    file_handle opened_[3];
    file_handle in_;
    file_handle out_;
    file_handle err_;
};

std::shared_ptr<child_process> start_plain(const std::vector<std::string>& words,
                                           const process_options& options,
                                           const std::string& attempt, child_streams& ours) {
    const failed_start fail{attempt};
    const std::vector<std::string> variables = child_environment(options);
    stream_plan streams(options, fail);
    spawn_plan plan(attempt);
    for (int i = 0; i < 3; ++i) {
        if (!streams.is_inherited(i)) {
            plan.give(i, streams.sources()[static_cast<std::size_t>(i)]);
        }
    }
    plan.finish(options);
    streams.take(ours);
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
    auto started = std::make_shared<plain_child>(pid, std::move(pidfd), words.front(), options);
    if (is_gone) {
        started->lose();
    }
    return started;
}

std::shared_ptr<child_process> start_contained(const std::vector<std::string>& words,
                                               const process_options& options,
                                               const std::string& attempt, child_streams& ours) {
    const failed_start fail{attempt};
    stream_plan streams(options, fail);
    streams.replace_closed();
    auto& guard = loop::current().service<tree_guard>();
    std::shared_ptr<child_process> started =
        guard.start_tree(words, options, streams.sources(), attempt);
    streams.take(ours);
    return started;
}

}  // namespace

std::vector<std::string> child_environment(const process_options& options) {
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
    if (options.contained) {
        add(std::string(mark_variable) + own_mark());
    }
    std::vector<std::string> made;
    for (auto& [name, variable] : by_name) {
        made.push_back(std::move(variable));
    }
    return made;
}

std::shared_ptr<child_process> start_child(const std::vector<std::string>& words,
                                           const process_options& options, child_streams& ours) {
    check(words, options);
    const std::string attempt =
        "cannot start " + words.front() +
        (options.directory.empty() ? std::string() : " in " + std::string(options.directory));
    return options.contained ? start_contained(words, options, attempt, ours)
                             : start_plain(words, options, attempt, ours);
}

}  // namespace weir::detail
