// SPDX-License-Identifier: MIT
// Contained processes: nothing that they start outlives them, their stop, or this program.

#include "io/process/child_process.hpp"
#include "support/io.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/io/buffered_reader.hpp>
#include <weir/io/error.hpp>
#include <weir/io/process.hpp>
#include <weir/scope.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace contained_test {

using namespace std::chrono_literals;
namespace stdio = weir::stdio;

weir::command_line shell(std::string_view script) {
    return {"/bin/sh", "-c", script};
}

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();  // the process may end meanwhile
    return all.str();
}

// The processes whose command line has the text. Those that have ended have no command line.
std::vector<int> processes_with(const std::string& text) {
    std::vector<int> found;
    for (const auto& each : std::filesystem::directory_iterator("/proc")) {
        const std::string name = each.path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos &&
            content_of(each.path() / "cmdline").find(text) != std::string::npos) {
            found.push_back(std::stoi(name));
        }
    }
    return found;
}

// A number for `sleep` that no other test uses.
std::string unique_time() {
    static int count = 0;
    return "9" + std::to_string(::getpid()) + "." + std::to_string(++count) + "77";
}

// Those that have become `sleep`: shells that still fork come and go.
std::vector<int> sleepers(const std::string& time) {
    return processes_with(std::string("sleep\0", 6) + time + '\0');
}

weir::task<> until_asleep(std::string time, std::size_t count) {
    for (int round = 0; round < 20000 && sleepers(time).size() < count; ++round) {
        co_await weir::sleep(1ms);
    }
    EXPECT_GE(sleepers(time).size(), count);
}

// One look may miss a process that forks and exits meanwhile.
weir::task<> until_gone(std::string text) {
    constexpr int looks = 10;
    int in_vain = 0;
    for (int round = 0; round < 5000 && in_vain < looks; ++round) {
        in_vain = processes_with(text).empty() ? in_vain + 1 : 0;
        co_await weir::sleep(1ms);
    }
    EXPECT_EQ(in_vain, looks) << "processes are left";
}

int parent_of(int process) {
    const std::string stat = content_of("/proc/" + std::to_string(process) + "/stat");
    const std::size_t name_end = stat.rfind(')');
    return name_end == std::string::npos ? 0 : std::stoi(stat.substr(name_end + 4));
}

// The program that a test kills.
[[noreturn]] void run_until_killed(const std::vector<std::string>& scripts) {
    auto body = [&]() -> weir::task<> {
        std::vector<weir::process> families;
        for (const std::string& each : scripts) {
            families.emplace_back(
                shell(each),
                weir::process_options{
                    .in = stdio::null, .out = stdio::null, .err = stdio::null, .contained = true});
        }
        co_await weir::sleep(1h);
    };
    weir::run(body());
    ::_exit(1);
}

std::vector<int> children_of(int parent) {
    std::vector<int> found;
    for (const auto& each : std::filesystem::directory_iterator("/proc")) {
        const std::string name = each.path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos &&
            parent_of(std::stoi(name)) == parent) {
            found.push_back(std::stoi(name));
        }
    }
    return found;
}

WEIR_IO_TEST(Contained, RunsLikeAnyOtherChild) {
    weir::process sorter({"sort", "-u"},
                         {.in = stdio::pipe, .out = stdio::pipe, .contained = true});
    EXPECT_GT(sorter.pid(), 0);
    co_await sorter.in().write("b\na\nb\n");
    sorter.in().close();
    const std::string sorted = co_await weir::io::read_all(sorter.out(), 100);
    EXPECT_EQ(sorted, "a\nb\n");
    const weir::exit_status ended = co_await sorter.wait();
    EXPECT_TRUE(ended.success());
    EXPECT_FALSE(sorter.kill(SIGTERM));
    const std::string input(300'000, 'x');
    const auto copied = co_await weir::run_command(shell("cat; echo done >&2; exit 7"),
                                                   {.input = input, .contained = true});
    EXPECT_TRUE(copied.out == input);
    EXPECT_EQ(copied.err, "done\n");
    EXPECT_EQ(copied.status.code(), 7);
    const auto killed = co_await weir::run_command(shell("kill -USR1 $$"), {.contained = true});
    EXPECT_EQ(killed.status.signal(), SIGUSR1);
    const std::vector<std::string> variables{"ADDED=1=2"};
    const auto there = co_await weir::run_command(
        shell("echo $ADDED; pwd; test -n \"$WEIR_GUARD\" && ls /proc/self/fd"),
        {.directory = "/", .environment = variables, .contained = true});
    EXPECT_EQ(there.out, "1=2\n/\n0\n1\n2\n3\n") << "ls itself has 3";
    const auto here = co_await weir::run_command({"pwd"}, {.contained = true});
    EXPECT_EQ(here.out, std::filesystem::current_path().string() + "\n");
    const auto slate = co_await weir::run_command(
        {"grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"}, {.contained = true});
    EXPECT_EQ(slate.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    const std::vector<std::string> long_variables{"LONG=" + std::string(100'000, 'y'),
                                                  "LONGER=" + std::string(120'000, 'z')};
    const auto much = co_await weir::run_command(
        shell("echo ${#LONG} ${#LONGER}"), {.environment = long_variables, .contained = true});
    EXPECT_EQ(much.out, "100000 120000\n");
}

WEIR_IO_TEST(Contained, ErrorsNameTheProgram) {
    auto message_of = [](const weir::command_line& command,
                         weir::process_options options) -> std::string {
        options.contained = true;
        try {
            weir::process started(command, options);
        } catch (const std::exception& error) {
            return error.what();
        }
        return "started";
    };
    EXPECT_EQ(message_of({"no-such-program", "x"}, {}),
              "cannot start no-such-program: No such file or directory");
    EXPECT_EQ(message_of({"/etc/passwd"}, {}), "cannot start /etc/passwd: Permission denied");
    EXPECT_EQ(message_of({"true"}, {.directory = "/nonexistent"}),
              "cannot start true in /nonexistent: No such file or directory");
    EXPECT_EQ(message_of({"true"}, {.out = stdio::descriptor(12345)}),
              "cannot start true: Bad file descriptor");
    try {
        co_await weir::run_command({"no-such-program"}, {.contained = true});
        ADD_FAILURE() << "started";
    } catch (const weir::io_error& error) {
        EXPECT_STREQ(error.what(), "cannot start no-such-program: No such file or directory");
    }
}

TEST(Contained, NeedsALoop) {
    EXPECT_THROW(weir::process(weir::command_line{"true"}, {.contained = true}), weir::misuse);
}

// Put in the background, and out of the group and the session.
WEIR_IO_TEST(Contained, WhatIsLeftEndsWithTheProgram) {
    const std::string time = unique_time();
    const auto result = co_await weir::run_command(
        shell("sleep " + time + " & setsid sleep " + time + " & (setsid sh -c '(sleep " + time +
              " &) ; sleep " + time + "' >/dev/null 2>&1 </dev/null &); echo started"),
        {.contained = true});
    EXPECT_EQ(processes_with(time), std::vector<int>());
    EXPECT_EQ(result.out, "started\n");
    EXPECT_TRUE(result.status.success()) << "the program's own status: " << result.status.text();
}

WEIR_IO_TEST(Contained, ADaemonThatIgnoresSigtermIsKilled) {
    const std::string time = unique_time();
    weir::process family(shell("trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep " + time +
                               "; sleep " + time + "' &); sleep " + time + "; sleep " + time),
                         {.contained = true, .grace = 50ms});
    co_await until_asleep(time, 2);
    const weir::exit_status ended = co_await family.terminate();
    EXPECT_EQ(processes_with(time), std::vector<int>());
    EXPECT_EQ(ended.signal(), SIGKILL);
}

WEIR_IO_TEST(Contained, TheGracePeriodIsForAll) {
    weir::process family(
        shell("(trap 'sleep 0.05; echo clean; exit' TERM; echo up; while :; do sleep 0.01; done) & "
              "wait"),
        {.out = stdio::pipe, .contained = true});
    weir::io::buffered_reader lines(family.out());
    const auto up = co_await lines.read_line(100);
    EXPECT_EQ(up, "up");
    const auto ended = co_await family.terminate();
    EXPECT_EQ(ended.signal(), SIGTERM);
    const auto clean = co_await lines.read_line(100);
    EXPECT_EQ(clean, "clean");
}

WEIR_IO_TEST(Contained, AStoppedProcessEndsToo) {
    const std::string time = unique_time();
    weir::process family(shell("sleep " + time + " & kill -STOP $!; sleep " + time),
                         {.contained = true});
    co_await until_asleep(time, 1);  // the other may be stopped as a shell
    co_await family.terminate();
    EXPECT_EQ(processes_with(time), std::vector<int>());
}

WEIR_IO_TEST(Contained, CancellingACommandWaitsForTheLastProcess) {
    for (int delay = 0; delay < 12; ++delay) {
        const std::string time = unique_time();
        const weir::command_line command = shell("trap '' TERM; (setsid sleep " + time +
                                                 " &); sleep " + time + " & wait; sleep " + time);
        auto running = weir::spawn(weir::run_command(command, {.contained = true, .grace = 5ms}));
        co_await weir::sleep(delay * 1ms);
        running.cancel();
        co_await running.wait();
        EXPECT_TRUE(running.cancelled());
        EXPECT_EQ(processes_with(time), std::vector<int>()) << delay << " ms";
    }
}

WEIR_IO_TEST(Contained, OutputIsCutOnRequest) {
    const auto cut =
        co_await weir::run_command(shell("seq 1 100000; seq 1 100000 >&2; exit 4"),
                                   {.output_limit = 1000, .cut_output = true, .contained = true});
    EXPECT_EQ(cut.status.code(), 4);
    EXPECT_TRUE(cut.out_is_cut && cut.err_is_cut);
    EXPECT_EQ(cut.out.size(), 1000u);
    EXPECT_TRUE(cut.out.starts_with("1\n2\n3\n"));
    EXPECT_EQ(cut.err.size(), 1000u);
    EXPECT_TRUE(cut.err.ends_with("99999\n100000\n"));
    const auto whole = co_await weir::run_command(shell("printf %01000d 7; printf %01000d 8 >&2"),
                                                  {.output_limit = 1000, .cut_output = true});
    EXPECT_EQ(whole.out.size() + whole.err.size(), 2000u);
    EXPECT_FALSE(whole.out_is_cut || whole.err_is_cut);
}

// The tree falls to the guard, whose parent the test is.
WEIR_IO_TEST(Contained, AKilledKeeperLosesNothing) {
    const std::string time = unique_time();
    weir::process family(
        shell("(setsid sleep " + time + " &); env -i sleep " + time + " & sleep " + time),
        {.contained = true});
    co_await until_asleep(time, 3);
    const int keeper = parent_of(family.pid());
    EXPECT_GT(keeper, 1);
    ::kill(keeper, SIGKILL);
    const weir::exit_status ended = co_await family.wait();
    EXPECT_EQ(processes_with(time), std::vector<int>());
    EXPECT_EQ(ended.signal(), SIGKILL);
}

// A guard that held them would keep the reader of a pipe waiting for the end of its program.
WEIR_IO_TEST(Contained, TheGuardHoldsNoStreamOfTheProgram) {
    weir::process child({"sleep", unique_time()}, {.contained = true});
    const std::string guard = std::to_string(parent_of(parent_of(child.pid())));
    for (const char* const each : {"0", "1", "2"}) {
        EXPECT_EQ(std::filesystem::read_symlink("/proc/" + guard + "/fd/" + each), "/dev/null");
    }
    co_await child.terminate();
}

WEIR_IO_TEST(Contained, AKilledGuardIsReplaced) {
    const std::string time = unique_time();
    weir::process first({"sleep", time}, {.contained = true});
    const int guard = parent_of(parent_of(first.pid()));
    // Its state would say zombie while a thread of the sanitizer's still holds its descriptors.
    weir::detail::file_handle ended(static_cast<int>(::syscall(SYS_pidfd_open, guard, 0)));
    WEIR_ASSERT_GE(ended.fd(), 0);
    ::kill(guard, SIGKILL);
    pollfd state{ended.fd(), POLLIN, 0};
    for (int round = 0; round < 5000 && ::poll(&state, 1, 0) == 0; ++round) {
        co_await weir::sleep(1ms);
    }
    const auto second = co_await weir::run_command({"echo", "second"}, {.contained = true});
    EXPECT_EQ(second.out, "second\n");
    EXPECT_EQ(processes_with(time).size(), 1u) << "its keeper keeps it";
    co_await first.terminate();
    EXPECT_EQ(processes_with(time), std::vector<int>());
}

// A process that is another one whenever it is looked at: each generation forks the next one into a
// session of its own, and exits.
WEIR_IO_TEST(Contained, AProcessThatHopsFromNumberToNumberIsCaught) {
    const std::string time = unique_time();
    weir::process family(
        {"perl", "-e", "use POSIX; for (;;) { exit if fork; POSIX::setsid(); } # " + time},
        {.contained = true, .grace = 20ms});
    co_await weir::sleep(30ms);
    co_await family.terminate();
    EXPECT_EQ(processes_with(time), std::vector<int>());
}

// Guard, keepers and program are killed together: the mark in the environment is left.
TEST(Contained, AbandonedProcessesAreFoundByTheirMark) {
    const std::string time = unique_time();
    const pid_t program = ::fork();
    if (program == 0) {
        run_until_killed(
            {"(setsid sh -c '(sleep " + time + " &) ; sleep " + time + "' &) ; sleep " + time});
    }
    auto body = [&]() -> weir::task<> {
        co_await until_asleep(time, 3);
        co_await weir::end_abandoned_processes();
        EXPECT_EQ(sleepers(time).size(), 3u) << "their program lives";
        for (const int each : processes_with(time)) {
            if (const int keeper = parent_of(each); parent_of(parent_of(keeper)) == program) {
                ::kill(parent_of(keeper), SIGKILL);
                ::kill(keeper, SIGKILL);
                ::kill(program, SIGKILL);
                break;
            }
        }
        ::waitpid(program, nullptr, 0);
        // They are abandoned now, and a service that another test starts may end them as well.
        co_await weir::end_abandoned_processes();
        EXPECT_EQ(processes_with(time), std::vector<int>());
    };
    weir::run(body());
}

TEST(Contained, AFrozenGuardDoesNotKeepAbandonedProcessesAlive) {
    const std::string time = unique_time();
    const pid_t program = ::fork();
    if (program == 0) {
        run_until_killed({"sleep " + time});
    }
    auto body = [&]() -> weir::task<> {
        co_await until_asleep(time, 1);
        const int keeper = parent_of(processes_with(time).front());
        ::kill(parent_of(keeper), SIGSTOP);
        ::kill(keeper, SIGSTOP);
        ::kill(program, SIGKILL);
        ::waitpid(program, nullptr, 0);
        co_await weir::end_abandoned_processes();
        EXPECT_EQ(processes_with(time), std::vector<int>());
    };
    weir::run(body());
}

std::atomic<bool> is_child_slow = false;  // one that has just been forked

// A guard that gets to work only after its program is gone has trees to start, and to kill.
TEST(Contained, AGuardThatHasNotBegunIsWaitedFor) {
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] {
        if (is_child_slow) {
            std::this_thread::sleep_for(100ms);
        }
    });
    ASSERT_EQ(registered, 0);
    const std::string time = unique_time();
    const pid_t program = ::fork();
    if (program == 0) {
        is_child_slow = true;
        run_until_killed({"sleep " + time});
    }
    std::vector<int> guards;
    while (guards.empty()) {
        guards = children_of(program);
    }
    std::this_thread::sleep_for(20ms);  // until it has told what to start
    ::kill(program, SIGKILL);
    ::waitpid(program, nullptr, 0);
    auto abandoned = []() -> weir::task<> { co_await weir::end_abandoned_processes(); };
    weir::run(abandoned());
    for (const int guard : guards) {
        EXPECT_EQ(content_of("/proc/" + std::to_string(guard) + "/cmdline"), "") << "it runs";
    }
    EXPECT_EQ(processes_with(time), std::vector<int>());
}

// A container's processes are visible from outside, under other numbers than those in their marks.
TEST(Contained, ProcessesOfAContainerAreNotAbandoned) {
    if (std::system("unshare --pid --mount true 2>/dev/null") != 0) {
        GTEST_SKIP() << "only root may make a namespace of processes";
    }
    const std::string time = unique_time();
    const pid_t outside = ::fork();
    if (outside == 0) {
        ::unshare(CLONE_NEWPID | CLONE_NEWNS);
        if (::fork() == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
            ::mount("proc", "/proc", "proc", 0, nullptr);
            run_until_killed({"sleep " + time});
        }
        ::pause();
    }
    auto body = [&]() -> weir::task<> {
        co_await until_asleep(time, 1);
        co_await weir::end_abandoned_processes();
        EXPECT_EQ(sleepers(time).size(), 1u);
    };
    weir::run(body());
    ::kill(outside, SIGKILL);
    ::waitpid(outside, nullptr, 0);
}

// ---- programs of all kinds, ended in all ways

std::string quoted(const std::string& script) {
    std::string text = "'";
    for (const char each : script) {
        text += each == '\'' ? std::string("'\\''") : std::string(1, each);
    }
    return text + "'";
}

// A script whose processes are stubborn, fork, run in the background or become daemons.
class random_script {
public:
    random_script(unsigned seed, std::string time) : random_(seed), time_(std::move(time)) {}

    std::string make(int depth = 3) {
        std::string script;
        if (one_in(3)) {
            script += "trap '' TERM HUP INT; ";
        }
        const int children = depth > 0 ? below(3) : 0;
        for (int i = 0; i < children; ++i) {
            const std::string body = quoted(make(depth - 1));
            switch (below(5)) {
                case 0:
                    script += "sh -c " + body + " & ";
                    break;
                case 1:
                    script += "setsid sh -c " + body + " & ";
                    break;
                case 2:  // a daemon: twice forked, without the standard streams
                    script += "(setsid sh -c " + body + " <&- >&- 2>&- &) ; ";
                    break;
                case 3:
                    script += "env -i /bin/sh -c " + body + " & ";
                    break;
                default:
                    script += "(sh -c " + body + " &) ; ";
                    break;
            }
        }
        switch (below(7)) {
            case 0:
                return script + "exit 0";
            case 1:
                return script + "wait";
            case 2:
                return script + "while :; do sleep 0.02; done; : " + time_;
            case 3:  // a bomb of 31 processes
                return script +
                       "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; sleep " +
                       time_ + "; }; f " + (one_in(4) ? "4" : "2");
            case 4:  // each generation is gone before it is looked at
                return script + "exec perl -e " +
                       quoted(
                           "use POSIX; for (1..40) { exit if fork; POSIX::setsid(); } exec "
                           "\"sleep\", \"" +
                           time_ + "\"");
            default:
                return script + "sleep " + time_;
        }
    }
    int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
    bool one_in(int count) { return below(count) == 0; }

private:
    std::mt19937 random_;
    std::string time_;
};

weir::task<> end_in_some_way(weir::command_line command, random_script& choice,
                             const std::string& time) {
    weir::process_options options{.in = stdio::null, .out = stdio::null, .err = stdio::null};
    options.contained = true;
    options.grace = choice.below(30) * 1ms;
    const auto delay = choice.below(25) * 1ms;
    switch (choice.below(5)) {
        case 0: {  // it may end by itself; or else it times out
            weir::process family(command, options);
            weir::cancel_scope scope(weir::now() + delay);
            co_await scope.run(family.wait());
            break;
        }
        case 1: {
            weir::process family(command, options);
            co_await weir::sleep(delay);
            co_await family.terminate();
            break;
        }
        case 2: {
            weir::process family(command, options);
            co_await weir::sleep(delay);
            family.kill(SIGKILL);
            co_await family.wait();
            break;
        }
        case 3: {
            auto running = weir::spawn(
                weir::run_command(command, {.contained = true, .grace = options.grace}));
            co_await weir::sleep(delay);
            running.cancel();
            co_await running.wait();
            break;
        }
        default: {
            auto family = std::make_unique<weir::process>(command, options);
            co_await weir::sleep(delay);
            family.reset();
            co_await until_gone(time);
            break;
        }
    }
}

int trials() {
    return std::getenv("WEIR_STRESS") != nullptr ? 1000 : 50;
}

TEST(ContainedStress, NoProcessSurvivesItsEnd) {
    const unsigned seed = std::random_device{}();
    auto all = [&]() -> weir::task<> {
        for (int i = 0; i < trials(); ++i) {
            const std::string time = unique_time();
            random_script choice(seed + static_cast<unsigned>(i), time);
            const std::string script = choice.make();
            co_await end_in_some_way(shell(script), choice, time);
            const std::vector<int> left = processes_with(time);
            EXPECT_EQ(left, std::vector<int>()) << "seed " << seed << " + " << i << "\n" << script;
            for (const int each : left) {
                ::kill(each, SIGKILL);
            }
        }
    };
    weir::run(all());
}

TEST(ContainedStress, NoProcessSurvivesAKillOfItsProgram) {
    const unsigned seed = std::random_device{}();
    for (int i = 0; i < trials() / 2; ++i) {
        const std::string time = unique_time();
        random_script choice(seed + static_cast<unsigned>(i), time);
        const std::vector<std::string> scripts = {choice.make(), choice.make()};
        const auto delay = std::chrono::milliseconds(choice.below(60));
        const pid_t program = ::fork();
        if (program == 0) {
            run_until_killed(scripts);
        }
        std::this_thread::sleep_for(delay);
        if (choice.one_in(4)) {  // the guard too
            for (const int guard : children_of(program)) {
                ::kill(guard, SIGKILL);
            }
        }
        ::kill(program, SIGKILL);
        ::waitpid(program, nullptr, 0);
        auto abandoned = []() -> weir::task<> { co_await weir::end_abandoned_processes(); };
        weir::run(abandoned());
        const std::vector<int> left = processes_with(time);
        EXPECT_EQ(left, std::vector<int>()) << "seed " << seed << " + " << i << "\n"
                                            << scripts[0] << "\n"
                                            << scripts[1];
        for (const int each : left) {
            ::kill(each, SIGKILL);
        }
    }
}

}  // namespace contained_test
