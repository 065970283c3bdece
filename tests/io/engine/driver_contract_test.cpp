// SPDX-License-Identifier: MIT
// What weir/driver.hpp promises of drivers that watch descriptors, without a loop around them: both
// drivers are put through the same tests.

#include "io/attack/attack.hpp"

#include <weir/driver.hpp>
#include <weir/error.hpp>
#include <weir/io/uring.hpp>
#include <weir/loop.hpp>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

namespace attack {
namespace {

using weir::fd_driver;
using weir::readiness;

constexpr std::int64_t millisecond = 1'000'000;

void with_each_driver(const std::function<void(fd_driver&)>& scene) {
    for (const auto make : {&weir::make_epoll_driver, &weir::io::make_uring_driver}) {
        if (const std::unique_ptr<weir::driver> made = make()) {
            SCOPED_TRACE(made->name());
            scene(dynamic_cast<fd_driver&>(*made));
        }
    }
}

// How many waits it takes until the deadline: one, or two if something interrupts the first, such
// as the end of another ring.
int waits_until(fd_driver& driver, std::int64_t deadline) {
    int count = 0;
    while (driver.now() < deadline) {
        driver.wait(deadline);
        ++count;
    }
    return count;
}

// The two ends of a pipe.
class plumbing {
public:
    plumbing() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0); }
    plumbing(const plumbing&) = delete;
    plumbing& operator=(const plumbing&) = delete;
    ~plumbing() {
        close_reader();
        ::close(ends_[1]);
    }
    int reader() const noexcept { return ends_[0]; }
    int writer() const noexcept { return ends_[1]; }
    void put() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
    void take() const {
        char got = 0;
        EXPECT_EQ(::read(ends_[0], &got, 1), 1);
    }
    void close_reader() {
        if (ends_[0] >= 0) {
            ::close(std::exchange(ends_[0], -1));
        }
    }

private:
    int ends_[2] = {-1, -1};
};

struct counted_watch final : weir::fd_watch {
    void fd_ready() noexcept override { ++count; }
    int count = 0;
};

struct counted_source final : weir::fd_source {
    void fd_changed(bool readable, bool writable, bool for_good) noexcept override {
        ++changes;
        was_readable = readable;
        was_writable = writable;
        is_over = for_good;
        if (then) {
            then();
        }
    }
    int changes = 0;
    bool was_readable = false;
    bool was_writable = false;
    bool is_over = false;
    std::function<void()> then;
};

// Waits until the condition holds, for a second at most.
template <class Condition>
bool wait_until(fd_driver& driver, Condition holds) {
    const std::int64_t end = driver.now() + 1000 * millisecond;
    while (!holds() && driver.now() < end) {
        driver.wait(end);
    }
    return holds();
}

TEST(DriverContract, WaitsUntilTheDeadlineAndNotAtAllForZero) {
    with_each_driver([](fd_driver& driver) {
        const std::int64_t begin = driver.now();
        driver.wait(0);
        driver.wait(begin - millisecond);  // in the past
        EXPECT_LT(driver.now(), begin + 900 * millisecond);
        for (int round = 0; round < 3; ++round) {
            EXPECT_LE(waits_until(driver, driver.now() + 3 * millisecond), 2);
        }
    });
}

TEST(DriverContract, AWakeEndsTheWaitUnderWayOrTheNext) {
    with_each_driver([](fd_driver& driver) {
        for (int round = 0; round < 5; ++round) {
            driver.wake();
            driver.wait(weir::driver::forever);
            std::thread other([&] {
                std::this_thread::sleep_for(1ms);
                driver.wake();
            });
            driver.wait(weir::driver::forever);
            other.join();
        }
        // A wake-up is used up by one wait.
        EXPECT_LE(waits_until(driver, driver.now() + 3 * millisecond), 3);
    });
}

TEST(DriverContract, AWatchFiresOnce) {
    with_each_driver([](fd_driver& driver) {
        const plumbing pipe;
        counted_watch watch;
        EXPECT_FALSE(driver.has_sources());
        for (int round = 1; round <= 3; ++round) {
            driver.watch(pipe.reader(), readiness::readable, watch);
            EXPECT_TRUE(driver.has_sources());
            driver.wait(0);
            driver.wait(0);
            EXPECT_EQ(watch.count, round - 1) << "nothing to read yet";
            pipe.put();
            EXPECT_TRUE(wait_until(driver, [&] { return watch.count == round; }));
            EXPECT_FALSE(driver.has_sources());
            driver.wait(0);
            driver.wait(0);
            EXPECT_EQ(watch.count, round) << "still readable, and not watched any more";
            EXPECT_FALSE(driver.unwatch(pipe.reader(), readiness::readable));
            pipe.take();
        }
    });
}

TEST(DriverContract, DirectionsAreWatchedSeparately) {
    with_each_driver([](fd_driver& driver) {
        both_ends ends = unix_pair();
        const int fd = ends.left.fd();
        counted_watch reader;
        counted_watch writer;
        driver.watch(fd, readiness::readable, reader);
        driver.watch(fd, readiness::writable, writer);
        EXPECT_THROW(driver.watch(fd, readiness::readable, reader), weir::invalid_state);
        EXPECT_THROW(driver.watch(fd, readiness::writable, writer), weir::invalid_state);
        EXPECT_TRUE(wait_until(driver, [&] { return writer.count == 1; }));
        EXPECT_EQ(reader.count, 0);
        EXPECT_EQ(::write(ends.right.fd(), "x", 1), 1);
        EXPECT_TRUE(wait_until(driver, [&] { return reader.count == 1; }));
        EXPECT_EQ(writer.count, 1);
        // The end of the stream wakes both.
        driver.watch(fd, readiness::readable, reader);
        EXPECT_TRUE(wait_until(driver, [&] { return reader.count == 2; }));
        char got = 0;
        EXPECT_EQ(::read(fd, &got, 1), 1);
        driver.watch(fd, readiness::readable, reader);
        ends.right.close();
        EXPECT_TRUE(wait_until(driver, [&] { return reader.count == 3; }));
        driver.watch(fd, readiness::writable, writer);
        EXPECT_TRUE(wait_until(driver, [&] { return writer.count == 2; }));
    });
}

TEST(DriverContract, AnUnwatchedDescriptorIsSilent) {
    with_each_driver([](fd_driver& driver) {
        const plumbing pipe;
        counted_watch watch;
        driver.watch(pipe.reader(), readiness::readable, watch);
        driver.wait(0);
        EXPECT_TRUE(driver.unwatch(pipe.reader(), readiness::readable));
        EXPECT_FALSE(driver.unwatch(pipe.reader(), readiness::readable));
        EXPECT_FALSE(driver.unwatch(pipe.reader(), readiness::writable));
        EXPECT_FALSE(driver.unwatch(12'345, readiness::readable));
        pipe.put();
        driver.wait(driver.now() + 2 * millisecond);
        driver.wait(0);
        EXPECT_EQ(watch.count, 0);
        EXPECT_FALSE(driver.has_sources());
        // One direction goes, the other one stays.
        both_ends ends = unix_pair();
        counted_watch reader;
        counted_watch writer;
        driver.watch(ends.left.fd(), readiness::readable, reader);
        driver.watch(ends.left.fd(), readiness::writable, writer);
        EXPECT_TRUE(driver.unwatch(ends.left.fd(), readiness::writable));
        EXPECT_EQ(::write(ends.right.fd(), "x", 1), 1);
        EXPECT_TRUE(wait_until(driver, [&] { return reader.count == 1; }));
        EXPECT_EQ(writer.count, 0);
    });
}

TEST(DriverContract, DescriptorsThatCannotBeWatched) {
    with_each_driver([](fd_driver& driver) {
        const plumbing pipe;
        counted_watch watch;
        const int closed = ::dup(pipe.reader());
        ::close(closed);
        for (int attempt = 0; attempt < 2; ++attempt) {  // a failure leaves nothing behind
            EXPECT_THROW(driver.watch(closed, readiness::readable, watch), std::system_error);
            EXPECT_THROW(driver.watch(-1, readiness::readable, watch), std::system_error);
        }
        EXPECT_FALSE(driver.has_sources());
        EXPECT_FALSE(driver.unwatch(closed, readiness::readable));
        const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        EXPECT_THROW(driver.watch(file, readiness::readable, watch), std::system_error);
        ::close(file);
    });
}

// A program that closes what it watches gets no event, and another file may get the number.
TEST(DriverContract, ANumberThatIsUsedAgain) {
    const std::unique_ptr<weir::driver> made = weir::make_epoll_driver();
    auto& driver = dynamic_cast<fd_driver&>(*made);
    std::optional<plumbing> first(std::in_place);
    const int number = first->reader();
    counted_watch old_reader;
    driver.watch(number, readiness::readable, old_reader);
    first->close_reader();
    both_ends ends = unix_pair();
    EXPECT_EQ(::dup2(ends.left.fd(), number), number);
    counted_watch writer;
    driver.watch(number, readiness::writable, writer);
    EXPECT_TRUE(wait_until(driver, [&] { return writer.count == 1; }));
    EXPECT_TRUE(driver.unwatch(number, readiness::readable));
    ::close(number);
}

TEST(DriverContract, WhatIsNotSubmittedYet) {
    with_each_driver([](fd_driver& driver) {
        const plumbing pipe;
        counted_watch watch;
        driver.wait(0);
        EXPECT_FALSE(driver.has_unsubmitted());
        const bool collects = std::string_view(driver.name()) == "uring";
        driver.watch(pipe.reader(), readiness::readable, watch);
        EXPECT_EQ(driver.has_unsubmitted(), collects);
        driver.wait(0);
        EXPECT_FALSE(driver.has_unsubmitted());
        driver.unwatch(pipe.reader(), readiness::readable);
        EXPECT_EQ(driver.has_unsubmitted(), collects);
        driver.wait(0);
        driver.wait(0);
        EXPECT_FALSE(driver.has_unsubmitted());
    });
}

TEST(DriverContract, TheDescriptorForGuestsShowsWhatThereIs) {
    with_each_driver([](fd_driver& driver) {
        const auto is_readable = [&](int milliseconds) {
            pollfd state{driver.fd(), POLLIN, 0};
            return ::poll(&state, 1, milliseconds) > 0;
        };
        is_readable(0);  // may say so at first
        driver.wait(0);
        for (int round = 0; round < 3; ++round) {
            EXPECT_FALSE(is_readable(0));
            driver.wake();
            EXPECT_TRUE(is_readable(0)) << "at once, not by a detour";
            driver.wait(0);
        }
        const plumbing pipe;
        counted_watch watch;
        driver.watch(pipe.reader(), readiness::readable, watch);
        driver.wait(0);
        EXPECT_FALSE(is_readable(0));
        pipe.put();
        EXPECT_TRUE(is_readable(1000));
        driver.wait(0);
        EXPECT_EQ(watch.count, 1);
        EXPECT_FALSE(is_readable(0));
    });
}

TEST(DriverContract, ASignalThatInterruptsTheWaitIsNoError) {
    with_each_driver([](fd_driver& driver) {
        struct sigaction former{};
        struct sigaction ignoring{};
        ignoring.sa_handler = [](int) {};
        ::sigaction(SIGUSR2, &ignoring, &former);
        const pthread_t self = ::pthread_self();
        std::thread other([&] {
            std::this_thread::sleep_for(1ms);
            ::pthread_kill(self, SIGUSR2);
        });
        EXPECT_NO_THROW(waits_until(driver, driver.now() + 10 * millisecond));
        other.join();
        ::sigaction(SIGUSR2, &former, nullptr);
    });
}

// ---- sources: epoll only

TEST(DriverContract, ASourceIsToldOfChangesAlone) {
    const std::unique_ptr<weir::driver> made = weir::make_epoll_driver();
    auto& driver = dynamic_cast<fd_driver&>(*made);
    both_ends ends = unix_pair();
    const int fd = ends.left.fd();
    counted_source source;
    EXPECT_EQ(driver.attach(fd, source), 0);
    EXPECT_TRUE(driver.has_sources());
    EXPECT_EQ(driver.attach(fd, source), EEXIST);
    EXPECT_TRUE(driver.has_sources());
    EXPECT_TRUE(wait_until(driver, [&] { return source.changes == 1; }));
    EXPECT_TRUE(source.was_writable && !source.was_readable && !source.is_over);
    driver.wait(0);
    EXPECT_EQ(source.changes, 1) << "no change";
    EXPECT_EQ(::write(ends.right.fd(), "x", 1), 1);
    EXPECT_TRUE(wait_until(driver, [&] { return source.changes == 2; }));
    EXPECT_TRUE(source.was_readable && !source.is_over);
    driver.wait(0);
    EXPECT_EQ(source.changes, 2) << "it was not read, but that is no change";
    driver.report_again(fd, source);
    EXPECT_TRUE(wait_until(driver, [&] { return source.changes == 3; }));
    EXPECT_TRUE(source.was_readable && source.was_writable);
    driver.wait(0);
    EXPECT_EQ(source.changes, 3);
    ends.right.close();
    EXPECT_TRUE(wait_until(driver, [&] { return source.changes == 4; }));
    EXPECT_TRUE(source.was_readable && source.was_writable && source.is_over);
    driver.detach(fd, source);
    EXPECT_FALSE(driver.has_sources());
    driver.report_again(fd, source);  // without effect
    driver.wait(0);
    EXPECT_EQ(source.changes, 4);
}

// A source that goes while its event is about to be handed out is not told of it.
TEST(DriverContract, ASourceMayGoBeforeItsEventIsHandedOut) {
    const std::unique_ptr<weir::driver> made = weir::make_epoll_driver();
    auto& driver = dynamic_cast<fd_driver&>(*made);
    std::vector<both_ends> pairs;
    std::vector<std::unique_ptr<counted_source>> sources;
    for (int number = 0; number < 5; ++number) {
        pairs.push_back(unix_pair());
        sources.push_back(std::make_unique<counted_source>());
    }
    int told = 0;
    for (std::size_t index = 0; index < pairs.size(); ++index) {
        sources[index]->then = [&, index] {
            ++told;
            for (std::size_t other = 0; other < sources.size(); ++other) {
                if (other != index && sources[other] != nullptr) {
                    driver.detach(pairs[other].left.fd(), *sources[other]);
                    sources[other].reset();  // a use would be one of freed memory
                }
            }
        };
        EXPECT_EQ(driver.attach(pairs[index].left.fd(), *sources[index]), 0);
    }
    driver.wait(0);  // all are writable
    driver.wait(0);
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(driver.has_sources()) << "one is left";
}

TEST(DriverContract, MoreEventsThanFitIntoOneCall) {
    const std::unique_ptr<weir::driver> made = weir::make_epoll_driver();
    auto& driver = dynamic_cast<fd_driver&>(*made);
    std::vector<both_ends> pairs;
    std::vector<std::unique_ptr<counted_source>> sources;
    for (int number = 0; number < 200; ++number) {
        pairs.push_back(unix_pair());
        sources.push_back(std::make_unique<counted_source>());
        EXPECT_EQ(driver.attach(pairs.back().left.fd(), *sources.back()), 0);
    }
    for (int round = 0; round < 4; ++round) {
        driver.wait(0);
    }
    for (const auto& each : sources) {
        EXPECT_EQ(each->changes, 1);
    }
}

// ---- an older kernel

// From now on the system call fails in this process.
bool forbid_call(unsigned number, int error) {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, steps};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Timers are then late by a millisecond at most, never early, and do not make the loop spin.
TEST(DriverContract, WithoutEpollPwait2) {
    for (const int error : {ENOSYS, EPERM}) {
        const pid_t child = ::fork();
        if (child == 0) {
            if (!forbid_call(__NR_epoll_pwait2, error)) {
                ::_exit(0);  // no seccomp here
            }
            const std::unique_ptr<weir::driver> made = weir::make_epoll_driver();
            bool is_early = false;
            for (int round = 0; round < 5; ++round) {
                const std::int64_t deadline = made->now() + 1'300'000;
                made->wait(deadline);
                is_early |= made->now() < deadline;
            }
            auto slept = []() -> weir::task<> { co_await weir::sleep(3ms); };
            weir::loop own({.driver = weir::driver_kind::epoll});
            own.run(slept());
            ::_exit(is_early ? 1 : 0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "error " << error;
    }
}

}  // namespace
}  // namespace attack
