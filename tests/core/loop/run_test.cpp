// SPDX-License-Identifier: MIT
// Programs that end by signals: child processes get signals, and their output and exit codes are
// checked.
//
// Not under the thread sanitizer: it holds a signal back until the next function that it
// intercepts, and the system calls in which a loop sleeps are none of these, so that a signal just
// before the loop sleeps is seen only when another event wakes it. These programs have one thread.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_SIGNALS_COME_LATE 1
#endif
#endif

#ifndef WEIR_SIGNALS_COME_LATE

#include <support/loops.hpp>

#include <weir/testing/testing.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <thread>

namespace {

using namespace std::chrono_literals;
using weir_test::contains;

// A copy of this process that runs the body and ends with its value. Its output is kept.
class child {
public:
    explicit child(const std::function<int()>& body) {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        std::fflush(nullptr);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::signal(SIGINT, SIG_DFL);  // shells ignore it for what runs in the background
            ::alarm(60);
            ::dup2(ends[1], 1);
            ::dup2(ends[1], 2);
            ::close(ends[0]);
            ::close(ends[1]);
            ::_exit(body());
        }
        ::close(ends[1]);
        output_ = ends[0];
    }
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ended();
        }
        ::close(output_);
    }

    // False if the output ends without the text.
    bool prints(const std::string& awaited) {
        while (!contains(text, awaited)) {
            char buffer[4096];
            const ssize_t count = ::read(output_, buffer, sizeof buffer);
            if (count <= 0) {
                ADD_FAILURE() << "never printed: " << awaited << "\nbut:\n" << text;
                return false;
            }
            text.append(buffer, static_cast<std::size_t>(count));
        }
        return true;
    }
    void gets(int signal) const { ::kill(pid_, signal); }
    bool still_runs() const {
        siginfo_t ended{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               ended.si_pid == 0;
    }
    // The exit code, or the signal that ended it as a negative number.
    int ended() {
        char buffer[4096];
        for (;;) {
            const ssize_t count = ::read(output_, buffer, sizeof buffer);
            if (count <= 0) {
                break;
            }
            text.append(buffer, static_cast<std::size_t>(count));
        }
        int status = 0;
        EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

    std::string text;

private:
    pid_t pid_ = 0;
    int output_ = -1;
};

weir::task<> naps() {
    co_await weir::sleep(1ms);
}

void say(const char* line) {
    std::fprintf(stderr, "%s\n", line);
}

weir::task<> waits_and_cleans(weir::clock::duration cleaning) {
    auto clean_up = [cleaning]() -> weir::task<> {
        say("cleaning");
        co_await weir::sleep(cleaning);
        say("clean");
    };
    auto wait = []() -> weir::task<> {
        say("ready");
        co_await weir::sleep_forever();
    };
    co_await weir::finally(wait(), clean_up);
}

// Its operation never lets go.
struct stubborn final : weir::operation {
    bool start() noexcept override { return true; }
    bool cancel() noexcept override { return false; }
    void resume() const noexcept {}
    const char* name() const noexcept override { return "stubborn"; }
};
weir::task<> never_ends() {
    stubborn leaf;
    say("ready");
    co_await leaf;
}

weir::loop_options with_deadline(weir::clock::duration deadline) {
    weir::loop_options options;
    options.shutdown_deadline = deadline;
    return options;
}

TEST(Run, EndAProgramGracefully) {
    for (const int number : {SIGINT, SIGTERM}) {
        child server([] {
            auto serve = []() -> weir::task<> {
                weir::spawn(waits_and_cleans(5ms));  // other tasks are cleaned up, too
                co_await waits_and_cleans(5ms);
            };
            return weir::run_main(serve);
        });
        server.prints("ready\nready");
        server.gets(number);
        EXPECT_EQ(server.ended(), 0) << server.text;
        EXPECT_TRUE(contains(server.text, "clean\ncleaning\nclean\n")) << server.text;
        EXPECT_FALSE(contains(server.text, "weir:")) << server.text;
    }
}

TEST(Run, AreThrownByRun) {
    child program([] {
        try {
            weir::run(waits_and_cleans(1ms));
        } catch (const weir::interrupted& stop) {
            say(stop.what());
            return stop.signal();
        }
        return 1;
    });
    program.prints("ready");
    program.gets(SIGTERM);
    EXPECT_EQ(program.ended(), SIGTERM);
    EXPECT_TRUE(contains(program.text, "clean\ninterrupted by SIGTERM")) << program.text;
}

TEST(Run, ATaskThatIgnoresThemIsNamedAtTheDeadline) {
    child leftover([] {
        auto main = []() -> weir::task<> {
            weir::spawn(never_ends(), {.name = "mule"});
            co_await weir::sleep_forever();
        };
        return weir::run_main(main, with_deadline(30ms));
    });
    leftover.prints("ready");
    leftover.gets(SIGTERM);
    EXPECT_EQ(leftover.ended(), weir::exit_with_late_tasks) << leftover.text;
    EXPECT_TRUE(contains(leftover.text, "mule (waits: stubborn)")) << leftover.text;
    EXPECT_TRUE(contains(leftover.text, "never_ends at ")) << leftover.text;
    EXPECT_TRUE(contains(leftover.text, "run_test.cpp:")) << leftover.text;
    // The main task itself, which continues after each stop.
    child stubborn_main([] {
        auto ignores = []() -> weir::task<> {
            auto wait = []() -> weir::task<> { co_await weir::sleep_forever(); };
            say("ready");
            for (;;) {
                const weir::outcome<void> ended = co_await weir::intercept(wait());
                EXPECT_TRUE(ended.is_stop());
            }
        };
        return weir::run_main(ignores, with_deadline(30ms));
    });
    stubborn_main.prints("ready");
    stubborn_main.gets(SIGINT);
    EXPECT_EQ(stubborn_main.ended(), weir::exit_with_late_tasks) << stubborn_main.text;
    EXPECT_TRUE(contains(stubborn_main.text, "[intercept]")) << stubborn_main.text;
    // Run alone prints the same on standard error, and throws.
    child plain([] {
        try {
            weir::run(never_ends(), with_deadline(30ms));
        } catch (const weir::interrupted&) {
            return 3;
        }
        return 4;
    });
    plain.prints("ready");
    plain.gets(SIGTERM);
    EXPECT_EQ(plain.ended(), 3);
    EXPECT_TRUE(contains(plain.text, "never_ends at ")) << plain.text;
}

TEST(Run, CleanUpThatHangsIsStoppedAtTheDeadlineAndNamed) {
    child program([] {
        struct at_end {
            ~at_end() { say("locals are gone"); }
        };
        auto main = []() -> weir::task<> {
            at_end local;
            co_await waits_and_cleans(1h);
        };
        return weir::run_main(main, with_deadline(30ms));
    });
    program.prints("ready");
    program.gets(SIGTERM);
    EXPECT_EQ(program.ended(), weir::exit_with_late_tasks) << program.text;
    EXPECT_TRUE(contains(program.text, "locals are gone")) << program.text;
    EXPECT_TRUE(contains(program.text, "[finally]")) << program.text;
    EXPECT_TRUE(contains(program.text, "They were stopped without their clean-up")) << program.text;
}

TEST(Run, TheSecondOneEndsAtOnce) {
    for (const int first : {SIGINT, SIGTERM}) {
        for (const int second : {SIGINT, SIGTERM}) {
            child program([] { return weir::run_main(waits_and_cleans(1h), with_deadline(1h)); });
            program.prints("ready");
            program.gets(first);
            program.prints("cleaning");
            program.gets(second);
            EXPECT_EQ(program.ended(), -second) << program.text;
        }
    }
    // Even when the loop itself hangs.
    child hanging([] {
        auto spins = []() -> weir::task<> {
            say("ready");
            for (;;) {
                ::pause();
            }
            co_return;
        };
        return weir::run_main(spins);
    });
    hanging.prints("ready");
    while (hanging.still_runs()) {
        hanging.gets(SIGINT);
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(hanging.ended(), -SIGINT);
}

TEST(Run, ThatTheProgramHandlesOrIgnoresAreLeftAlone) {
    child ignoring([] {
        ::signal(SIGTERM, SIG_IGN);
        auto main = []() -> weir::task<int> {
            std::raise(SIGTERM);
            co_await weir::sleep(5ms);
            co_return 5;
        };
        return weir::run_main(main);
    });
    EXPECT_EQ(ignoring.ended(), 5);
    child declining([] {
        weir::loop_options options;
        options.signals = weir::signal_handling::none;
        return weir::run_main(waits_and_cleans(1ms), std::move(options));
    });
    declining.prints("ready");
    declining.gets(SIGTERM);
    EXPECT_EQ(declining.ended(), -SIGTERM);
    // The task's own handler goes first, as often as it is called; without it all is as before.
    child own([] {
        auto main = []() -> weir::task<> {
            int seen = 0;
            weir::on_signal(SIGTERM, [&seen] { ++seen; });
            while (seen < 3) {
                std::raise(SIGTERM);
                co_await weir::sleep(1ms);
            }
            EXPECT_TRUE(weir::loop::current().remove_signal(SIGTERM));
            EXPECT_FALSE(weir::loop::current().remove_signal(SIGTERM));
            say("own");
            co_await waits_and_cleans(1ms);
        };
        return weir::run_main(main);
    });
    own.prints("own\nready");
    own.gets(SIGTERM);
    EXPECT_EQ(own.ended(), 0) << own.text;
    EXPECT_TRUE(contains(own.text, "clean\n")) << own.text;
}

TEST(Run, OneLoopOfSeveralHasThem) {
    child program([] {
        std::atomic<bool> first_ended{false};
        std::atomic<bool> others_ended{false};
        auto first = [&]() -> weir::task<> {
            auto other = [&] {
                auto main = [&]() -> weir::task<> {
                    while (!first_ended) {
                        co_await weir::sleep(1ms);
                    }
                };
                for (int round = 0; round < 20; ++round) {
                    weir::run(naps);
                }
                weir::run(main());  // not interrupted
                others_ended = true;
            };
            std::thread(other).detach();
            auto clean_up = [&]() -> weir::task<> {
                first_ended = true;
                while (!others_ended) {
                    co_await weir::sleep(1ms);
                }
            };
            auto wait = []() -> weir::task<> {
                co_await weir::sleep(5ms);
                say("ready");
                co_await weir::sleep_forever();
            };
            co_await weir::finally(wait(), clean_up);
        };
        return weir::run_main(first);
    });
    program.prints("ready");
    program.gets(SIGTERM);
    EXPECT_EQ(program.ended(), 0) << program.text;
    // Runs that begin and end on several threads at once do not get into each other's way.
    auto often = [] {
        for (int round = 0; round < 300; ++round) {
            weir::run([]() -> weir::task<> { co_await weir::yield(); });
        }
    };
    std::thread second(often);
    often();
    second.join();
    struct sigaction present{};
    ASSERT_EQ(::sigaction(SIGTERM, nullptr, &present), 0);
    EXPECT_EQ(present.sa_handler, SIG_DFL);
}

TEST(Run, DuringTheShutdownTheyAreNotLost) {
    auto main = []() -> weir::task<int> {
        auto leftover = []() -> weir::task<> {
            auto wait = []() -> weir::task<> { co_await weir::sleep_forever(); };
            auto clean_up = []() -> weir::task<> {
                std::raise(SIGTERM);
                co_await weir::sleep(1ms);
            };
            co_await weir::finally(wait(), clean_up);
        };
        weir::spawn(leftover());
        co_await weir::yield();
        co_return 1;
    };
    EXPECT_THROW(weir::run(main()), weir::interrupted);
}

TEST(Run, Sigusr1PrintsTheTaskTree) {
    child program([] {
        auto main = []() -> weir::task<> {
            weir::spawn(waits_and_cleans(1ms), {.name = "worker seven"});
            co_await weir::sleep_forever();
        };
        return weir::run_main(main);
    });
    program.prints("ready");
    for (int round = 0; round < 2; ++round) {
        program.text.clear();
        program.gets(SIGUSR1);
        program.prints("worker seven (waits: ");
        program.prints("waits_and_cleans at ");
    }
    program.gets(SIGTERM);
    EXPECT_EQ(program.ended(), 0);
    child plain([] {
        weir::run(waits_and_cleans(1ms));
        return 0;
    });
    plain.prints("ready");
    plain.gets(SIGUSR1);
    EXPECT_EQ(plain.ended(), -SIGUSR1) << "run takes it only when asked";
}

TEST(Run, ExitCodesOfPrograms) {
    auto code_of = [](const std::function<int()>& body, const std::string& printed) {
        child program(body);
        const int code = program.ended();
        EXPECT_TRUE(contains(program.text, printed)) << program.text;
        EXPECT_EQ(program.text.empty(), printed.empty()) << program.text;
        return code;
    };
    EXPECT_EQ(code_of([] { return weir::run_main(naps); }, ""), 0);
    auto three = []() -> weir::task<int> { co_return 3; };
    EXPECT_EQ(code_of([&] { return weir::run_main(three); }, ""), 3);
    auto fails = []() -> weir::task<> {
        throw std::runtime_error("no such table");
        co_return;
    };
    const std::string name = program_invocation_short_name;
    EXPECT_EQ(code_of([&] { return weir::run_main(fails); }, name + ": no such table\n"), 1);
    auto throws_itself = []() -> weir::task<> { throw std::runtime_error("at once"); };
    EXPECT_EQ(code_of([&] { return weir::run_main(throws_itself); }, name + ": at once\n"), 1);
    EXPECT_EQ(code_of([&] { return weir::run_main(three(), with_deadline(-1s)); },
                      "shutdown_deadline is negative"),
              1);
    auto cancelled = []() -> weir::task<> {
        weir::current_task().cancel("by itself");
        co_await weir::yield();
    };
    EXPECT_EQ(code_of([&] { return weir::run_main(cancelled); }, "cancelled: by itself"), 1);
    auto leaves_late = []() -> weir::task<> {
        weir::spawn(never_ends(), {.name = "mule"});
        co_await weir::yield();
    };
    EXPECT_EQ(code_of([&] { return weir::run_main(leaves_late, with_deadline(10ms)); }, "mule"),
              weir::exit_with_late_tasks);
    auto stopped_badly = []() -> weir::task<> {
        auto leftover = []() -> weir::task<> {
            auto wait = []() -> weir::task<> { co_await weir::sleep_forever(); };
            auto clean_up = []() -> weir::task<> {
                throw std::runtime_error("not saved");
                co_return;
            };
            co_await weir::finally(wait(), clean_up);
        };
        weir::spawn(leftover());
        co_await weir::yield();
        std::raise(SIGTERM);
        co_await weir::sleep_forever();
    };
    EXPECT_EQ(code_of([&] { return weir::run_main(stopped_badly); }, "not saved"), 1);
}

}  // namespace

#endif
