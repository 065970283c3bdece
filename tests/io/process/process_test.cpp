// SPDX-License-Identifier: MIT
// Child processes: streams, ends, and stops at any moment, which leave no process behind.

#include "support/io.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/gather.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/buffered_reader.hpp>
#include <weir/io/error.hpp>
#include <weir/io/process.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
namespace stdio = weir::stdio;

// Of this process: running ones and zombies.
bool has_children() {
    siginfo_t about{};
    return ::waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT) == 0;
}

weir::task<> until_no_children() {
    for (int round = 0; has_children() && round < 2000; ++round) {
        co_await weir::sleep(1ms);
    }
    EXPECT_FALSE(has_children());
}

weir::command_line shell(std::string_view script) {
    return {"/bin/sh", "-c", script};
}

WEIR_IO_TEST(Process, StreamsAreStreamed) {
    weir::process sorter({"sort", "-u"}, {.in = stdio::pipe, .out = stdio::pipe});
    EXPECT_GT(sorter.pid(), 0);
    co_await sorter.in().write("b\na\nb\n");
    sorter.in().close();
    const std::string sorted = co_await weir::io::read_all(sorter.out(), 100);
    EXPECT_EQ(sorted, "a\nb\n");
    const weir::exit_status ended = co_await sorter.wait();
    EXPECT_TRUE(ended.success());
    const weir::exit_status again = co_await sorter.wait();
    EXPECT_EQ(again, ended);
    EXPECT_FALSE(sorter.kill(SIGTERM));
    EXPECT_THROW(sorter.err(), weir::invalid_state);
    EXPECT_THROW(sorter.in(), weir::invalid_state) << "closed";
    EXPECT_FALSE(has_children());
}

WEIR_IO_TEST(Process, EndsAreTold) {
    const auto three = co_await weir::run_command(shell("exit 3"));
    EXPECT_EQ(three.status.code(), 3);
    EXPECT_EQ(three.status.text(), "exited with code 3");
    EXPECT_FALSE(three.status.success());
    const auto killed = co_await weir::run_command(shell("kill -USR1 $$"));
    EXPECT_EQ(killed.status.signal(), SIGUSR1);
    EXPECT_EQ(killed.status.code(), -1);
    EXPECT_FALSE(killed.status.success());
    weir::process sleeper({"sleep", "1000"});
    auto first = weir::spawn(sleeper.wait());
    auto second = weir::spawn(sleeper.wait());
    co_await weir::sleep(1ms);
    EXPECT_TRUE(sleeper.kill(SIGTERM));
    EXPECT_THROW(sleeper.kill(0), weir::invalid_argument);
    const weir::exit_status status = co_await first;
    EXPECT_EQ(status.text(), "was ended by signal 15 (Terminated)");
    const weir::exit_status same = co_await second;
    EXPECT_EQ(same, status);
}

WEIR_IO_TEST(Process, CommandsAreCollected) {
    const std::string input(300'000, 'x');  // more than the pipes hold, both ways
    const auto copied =
        co_await weir::run_command(shell("cat; echo done >&2; exit 1"), {.input = input});
    EXPECT_TRUE(copied.out == input);
    EXPECT_EQ(copied.err, "done\n");
    EXPECT_EQ(copied.status.code(), 1);
    const auto merged =
        co_await weir::run_command(shell("echo one; echo two >&2"), {.err = stdio::to_out});
    EXPECT_EQ(merged.out, "one\ntwo\n");
    EXPECT_EQ(merged.err, "");
    const auto unread = co_await weir::run_command({"true"}, {.input = input});
    EXPECT_TRUE(unread.status.success()) << "a child need not read its input";
    const auto nothing = co_await weir::run_command({"cat"});
    EXPECT_EQ(nothing.out, "") << "standard input is empty";
    const std::vector<std::string> words{"printf", "%s-%s", "a b", "$HOME"};
    const auto printed = co_await weir::run_command(words);
    EXPECT_EQ(printed.out, "a b-$HOME");
    try {
        co_await weir::run_command({"yes"}, {.output_limit = 1000});
        ADD_FAILURE() << "yes has an end";
    } catch (const weir::limit_exceeded& error) {
        EXPECT_STREQ(error.what(), "run_command: yes has printed more than 1000 bytes");
    }
    WEIR_EXPECT_THROW(weir::run_command(shell("yes >&2"), {.output_limit = 1000}),
                      weir::limit_exceeded);
    EXPECT_FALSE(has_children());
}

WEIR_IO_TEST(Process, RunsInItsOwnSurroundings) {
    ::setenv("WEIR_TEST_OURS", "ours", 1);
    const std::vector<std::string> variables{"WEIR_TEST_OURS=replaced", "ADDED=1=2"};
    const auto changed = co_await weir::run_command(shell("echo $WEIR_TEST_OURS $ADDED; pwd"),
                                                    {.directory = "/", .environment = variables});
    EXPECT_EQ(changed.out, "replaced 1=2\n/\n");
    const auto bare = co_await weir::run_command(
        {"/usr/bin/env"}, {.environment = variables, .inherit_environment = false});
    EXPECT_EQ(bare.out, "ADDED=1=2\nWEIR_TEST_OURS=replaced\n");
    // Only 0, 1 and 2, regardless of the descriptors open here, even without close-on-exec; ls
    // itself has 3.
    const int open = ::open("/dev/null", O_RDONLY);
    const auto descriptors = co_await weir::run_command({"ls", "/proc/self/fd"});
    EXPECT_EQ(descriptors.out, "0\n1\n2\n3\n");
    // Swapped on the way.
    auto ours = weir::io::make_pipe();
    weir::process swapped(shell("echo out; echo err >&2"),
                          {.out = stdio::descriptor(ours.writer.fd()), .err = stdio::to_out});
    const weir::exit_status ended = co_await swapped.wait();
    EXPECT_TRUE(ended.success());
    ours.writer.close();
    const std::string both = co_await weir::io::read_all(ours.reader, 100);
    EXPECT_EQ(both, "out\nerr\n");
    ::close(open);
    // A clean slate of signals.
    sigset_t blocked;
    sigset_t former;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &former);
    const auto former_handler = ::signal(SIGHUP, SIG_IGN);
    const auto slate =
        co_await weir::run_command({"grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"});
    ::signal(SIGHUP, former_handler);
    ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
    EXPECT_EQ(slate.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

WEIR_IO_TEST(Process, ErrorsNameTheProgram) {
    auto message_of = [](const weir::command_line& command,
                         const weir::process_options& how) -> std::string {
        try {
            weir::process started(command, how);
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
    EXPECT_EQ(message_of(std::vector<std::string>(), {}), "process: the command is empty");
    EXPECT_EQ(message_of({std::string_view("a\0b", 3)}, {}),
              "process: the word 'a' goes on after a zero byte");
    const std::vector<std::string> malformed{"NAME"};
    EXPECT_EQ(message_of({"true"}, {.environment = malformed}),
              "process: environment has 'NAME', which is not of the form NAME=value");
    EXPECT_EQ(message_of({"true"}, {.out = stdio::to_out}),
              "process: stdio::to_out is for err only");
    EXPECT_EQ(message_of({"true"}, {.grace = -1s}),
              "process: grace is negative; 0 means SIGKILL right after SIGTERM");
    EXPECT_THROW(weir::process().pid(), weir::invalid_state);
    EXPECT_FALSE(has_children());
    co_return;
}

// Where SIGCHLD is ignored the system forgets how a child has ended: that is no success.
WEIR_IO_TEST(Process, AStatusThatIsLostIsAnErrorEachTime) {
    struct ignored {
        ignored() : former(std::signal(SIGCHLD, SIG_IGN)) {}
        ignored(const ignored&) = delete;
        ignored& operator=(const ignored&) = delete;
        ~ignored() { std::signal(SIGCHLD, former); }
        void (*former)(int);
    } const while_here;
    weir::process child({"false"});
    for (int round = 0; round < 2; ++round) {
        try {
            co_await child.wait();
            ADD_FAILURE() << round;
        } catch (const weir::io_error& error) {
            EXPECT_STREQ(error.what(), "wait for false: No child processes");
        }
    }
    EXPECT_THROW(co_await child.terminate(), weir::io_error);
    EXPECT_FALSE(child.kill(SIGTERM));
}

WEIR_IO_TEST(Process, CancellingAWaitEndsTheChild) {
    // One that cleans up on SIGTERM is given the time.
    weir::process tidy(
        shell("trap 'echo tidy; exit 0' TERM; echo up; while :; do sleep 0.01; done"),
        {.out = stdio::pipe});
    weir::io::buffered_reader lines(tidy.out());
    const auto up = co_await lines.read_line(100);
    EXPECT_EQ(up, "up");
    auto waiting = weir::spawn(tidy.wait());
    co_await weir::yield();
    waiting.cancel();
    const auto last = co_await lines.read_line(100);
    EXPECT_EQ(last, "tidy");
    co_await waiting.wait();
    EXPECT_TRUE(waiting.cancelled());
    const weir::exit_status ended = co_await tidy.wait();
    EXPECT_EQ(ended.code(), 0);
    // One that does not is killed after the grace period.
    weir::process stubborn(shell("trap '' TERM; echo up; while :; do sleep 0.01; done"),
                           {.out = stdio::pipe, .grace = 5ms});
    weir::io::buffered_reader other_lines(stubborn.out());
    const auto also_up = co_await other_lines.read_line(100);
    EXPECT_EQ(also_up, "up");
    const weir::exit_status killed = co_await stubborn.terminate();
    EXPECT_EQ(killed.signal(), SIGKILL);
    co_await until_no_children();
}

// Not with the sanitizers of memory: they open pipes to look at it, and see errors where they
// cannot.
#if !defined(__SANITIZE_ADDRESS__)
WEIR_IO_TEST(Process, WaitsAndEndsWithoutADescriptorLeft) {
    weir::process child({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"},
                        {.out = weir::stdio::pipe, .grace = 20ms});
    std::array<char, 10> buffer;
    const std::size_t count = co_await child.out().read(buffer);
    EXPECT_EQ(count, 6u);
    struct no_descriptors {
        no_descriptors() {
            ::getrlimit(RLIMIT_NOFILE, &former);
            const rlimit none{3, former.rlim_max};
            ::setrlimit(RLIMIT_NOFILE, &none);
        }
        no_descriptors(const no_descriptors&) = delete;
        no_descriptors& operator=(const no_descriptors&) = delete;
        ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &former); }
        rlimit former{};
    } const while_here;
    const auto cancelled = weir::spawn(child.wait());
    co_await weir::sleep(2ms);
    cancelled.cancel();
    co_await cancelled.wait();
    EXPECT_TRUE(cancelled.cancelled());
    const weir::exit_status ended = co_await child.wait();
    EXPECT_EQ(ended, weir::exit_status::killed(SIGKILL));
}
#endif

WEIR_IO_TEST(Process, AGroupIsSignalledAsAWhole) {
    auto ours = weir::io::make_pipe();
    weir::process family(shell("sleep 1000 & echo up; wait"),
                         {.out = stdio::descriptor(ours.writer.fd()), .own_group = true});
    ours.writer.close();
    weir::io::buffered_reader lines(ours.reader);
    const auto up = co_await lines.read_line(100);
    EXPECT_EQ(up, "up");
    co_await family.terminate();
    const auto end = co_await lines.read_line(100);
    EXPECT_FALSE(end.has_value()) << "the grandchild held the pipe";
}

// The grace period is for the complete group: its leader, a shell, ends at once.
WEIR_IO_TEST(Process, AGroupHasItsGracePeriodToo) {
    auto ours = weir::io::make_pipe();
    weir::process family(
        shell("(trap 'sleep 0.05; echo clean; exit' TERM; echo up; while :; do sleep 0.01; done) & "
              "wait"),
        {.out = stdio::descriptor(ours.writer.fd()), .own_group = true});
    ours.writer.close();
    weir::io::buffered_reader lines(ours.reader);
    const auto up = co_await lines.read_line(100);
    EXPECT_EQ(up, "up");
    const auto ended = co_await family.terminate();
    EXPECT_EQ(ended.signal(), SIGTERM);
    const auto clean = co_await lines.read_line(100);
    EXPECT_EQ(clean, "clean");
    const auto end = co_await lines.read_line(100);
    EXPECT_FALSE(end.has_value());
}

WEIR_IO_TEST(Process, MembersThatIgnoreSigtermAreKilledAfterTheirLeader) {
    auto ours = weir::io::make_pipe();
    weir::process family(
        shell("(trap '' TERM; echo up; sleep 1000) & wait"),
        {.out = stdio::descriptor(ours.writer.fd()), .own_group = true, .grace = 100ms});
    ours.writer.close();
    weir::io::buffered_reader lines(ours.reader);
    const auto up = co_await lines.read_line(100);
    EXPECT_EQ(up, "up");
    co_await family.terminate();
    const auto end = co_await lines.read_line(100);
    EXPECT_FALSE(end.has_value()) << "one was left behind";
}

// The shell is gone, and its child keeps the output open.
WEIR_IO_TEST(Process, ACancelledCommandEndsTheGroupOfALeaderThatHasEnded) {
    const weir::command_line command = shell("sleep 1000 & echo $!");
    auto held = weir::io::make_pipe();  // by the child
    auto running = weir::spawn(weir::run_command(
        command, {.err = stdio::descriptor(held.writer.fd()), .own_group = true}));
    co_await weir::sleep(100ms);
    held.writer.close();
    EXPECT_FALSE(running.done()) << "the output is not complete";
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    std::array<char, 10> none;
    const std::size_t left = co_await weir::timeout(10s, held.reader.read(none));
    EXPECT_EQ(left, 0u) << "the child was left behind";

    // And so does destruction.
    auto ours = weir::io::make_pipe();
    weir::io::buffered_reader lines(ours.reader);
    {
        const weir::process family(command,
                                   {.out = stdio::descriptor(ours.writer.fd()), .own_group = true});
        ours.writer.close();
        const auto number = co_await lines.read_line(100);
        EXPECT_TRUE(number.has_value());
        co_await weir::sleep(20ms);
    }
    const auto end = co_await lines.read_line(100);
    EXPECT_FALSE(end.has_value()) << "the sleeper was left behind";
}

// A daemon that was started on purpose.
WEIR_IO_TEST(Process, AGroupRunsOnAfterItsLeaderWasWaitedFor) {
    auto ours = weir::io::make_pipe();
    weir::process family(shell("sleep 1000 & echo $!"),
                         {.out = stdio::descriptor(ours.writer.fd()), .own_group = true});
    ours.writer.close();
    weir::io::buffered_reader lines(ours.reader);
    const auto number = co_await lines.read_line(100);
    const auto ended = co_await family.wait();
    EXPECT_TRUE(ended.success());
    EXPECT_FALSE(family.kill(SIGKILL));
    co_await family.terminate();
    family = weir::process();
    const int daemon = std::stoi(std::string(number.value_or("0")));
    EXPECT_EQ(::kill(daemon, 0), 0) << "it was ended";
    ::kill(daemon, SIGKILL);
    const auto end = co_await lines.read_line(100);
    EXPECT_FALSE(end.has_value());
}

WEIR_IO_TEST(Process, DestructionKillsAndLeavesNoZombie) {
    {
        weir::process first({"sleep", "1000"});
        weir::process second({"sleep", "1000"});
        first = std::move(second);      // ends the first
        weir::process third({"true"});  // words alone do not make it a process to be moved
        EXPECT_THROW(second.pid(), weir::invalid_state);
    }
    // Under a task that waits for it.
    auto doomed = std::make_unique<weir::process>(weir::command_line{"sleep", "1000"});
    auto waiting = weir::spawn(doomed->wait());
    co_await weir::yield();
    doomed.reset();
    const weir::exit_status ended = co_await waiting;
    EXPECT_EQ(ended.signal(), SIGKILL);
    co_await until_no_children();
}

// At the shutdown deadline: the task is never destroyed, so nothing of it is ended.
TEST(Process, ATaskThatIsLeftBehindKeepsItsChild) {
    static std::atomic<bool> may_end{false};
    static std::atomic<bool> has_begun{false};
    static int child_number = 0;
    const std::ptrdiff_t before = weir_test::open_descriptors();
    std::optional<weir::handle<>> stuck;
    auto works = []() -> weir::task<> {
        const weir::process child({"sleep", "1000"});
        child_number = child.pid();
        co_await weir::run_blocking([] {
            has_begun = true;
            while (!may_end) {
                std::this_thread::sleep_for(1ms);
            }
        });
    };
    auto main = [&]() -> weir::task<> {
        stuck = weir::spawn(works(), {.name = "stuck"});
        while (!has_begun) {
            co_await weir::sleep(1ms);
        }
    };
    try {
        weir::run(main(), {.shutdown_deadline = 1ms});
        ADD_FAILURE() << "the task has ended";
    } catch (const weir::shutdown_timeout& error) {
        EXPECT_NE(std::string(error.what()).find("stuck"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(stuck->done() && stuck->cancelled());
    EXPECT_EQ(::kill(child_number, 0), 0);
    ::kill(child_number, SIGKILL);
    EXPECT_EQ(::waitpid(child_number, nullptr, 0), child_number);
    may_end = true;                             // the result is dropped
    weir_test::expect_descriptors(before + 1);  // the child's stays open
}

// A loop that sleeps without timers is woken by a signal, whichever way it sleeps.
TEST(Process, SigtermEndsARunOnEitherDriver) {
    for (const weir::driver_kind kind : {weir::driver_kind::epoll, weir::driver_kind::uring}) {
        if (kind == weir::driver_kind::uring && weir::io::make_uring_driver() == nullptr) {
            continue;
        }
        const std::ptrdiff_t before = weir_test::open_descriptors();
        std::thread sender;
        auto main = [&]() -> weir::task<> {
            sender = std::thread([] {
                std::this_thread::sleep_for(5ms);
                ::kill(::getpid(), SIGTERM);
            });
            weir::process child({"sleep", "1000"});
            co_await child.wait();
        };
        try {
            weir::run(main(), {.driver = kind});
            ADD_FAILURE() << "run returned";
        } catch (const weir::interrupted& stop) {
            EXPECT_EQ(stop.signal(), SIGTERM);
        }
        sender.join();
        EXPECT_FALSE(has_children());
        EXPECT_EQ(weir_test::open_descriptors(), before);
    }
}

// Tasks with children are cancelled at random moments: no child, descriptor or task stays.
WEIR_IO_TEST(Process, RandomCancelsLeaveNothingBehind) {
    std::mt19937 random(7);
    const std::string input(100'000, 'i');
    auto command = [&]() -> weir::task<> {
        co_await weir::run_command(shell("cat; echo end >&2"), {.input = input, .grace = 1ms});
    };
    auto streams = [&]() -> weir::task<> {
        weir::process child({"cat"}, {.in = stdio::pipe, .out = stdio::pipe, .grace = 1ms});
        co_await child.in().write("line\n");
        weir::io::buffered_reader lines(child.out());
        const auto line = co_await lines.read_line(100);
        EXPECT_EQ(line, "line");
        child.in().close();
        co_await child.wait();
    };
    for (int round = 0; round < 50; ++round) {
        std::vector<weir::handle<>> tasks;
        for (int each = 0; each < 3; ++each) {
            tasks.push_back(weir::spawn(each % 2 == 0 ? command() : streams()));
        }
        for (unsigned turns = random() % 10; turns > 0; --turns) {
            co_await weir::yield();
        }
        if (random() % 2 == 0) {
            co_await weir::sleep(std::chrono::microseconds(random() % 3000));
        }
        for (auto& each : tasks) {
            each.cancel();
        }
        for (auto& each : tasks) {
            const weir::outcome<void> ended = co_await weir::settle(std::move(each));
            EXPECT_FALSE(ended.has_error());
        }
    }
    co_await until_no_children();
}

}  // namespace
