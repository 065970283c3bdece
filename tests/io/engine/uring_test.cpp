// SPDX-License-Identifier: MIT
// Behaviour that the io_uring driver shares with the epoll driver, and the fallback where io_uring
// is not available.

#include "io/attack/attack.hpp"

#include <weir/fd.hpp>
#include <weir/io/uring.hpp>
#include <weir/loop.hpp>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

namespace attack {
namespace {

std::vector<weir::driver_kind> drivers() {
    std::vector<weir::driver_kind> all{weir::driver_kind::epoll};
    if (weir::io::make_uring_driver() != nullptr) {
        all.push_back(weir::driver_kind::uring);
    }
    return all;
}

weir::task<int> echo_some(int rounds) {
    both_ends ends = unix_pair();
    std::array<char, 10> buffer;
    int count = 0;
    for (int round = 0; round < rounds; ++round) {
        auto reading = weir::spawn(
            [&]() -> weir::task<std::size_t> { co_return co_await ends.right.read(buffer); });
        co_await weir::sleep(10us);
        co_await ends.left.write("hello");
        const std::size_t got = co_await reading;
        count += static_cast<int>(got);
    }
    co_return count;
}

TEST(Uring, MakesADriverOrNone) {
    const std::unique_ptr<weir::driver> made = weir::io::make_uring_driver();
    if (made == nullptr) {
        GTEST_SKIP() << "io_uring is not available here";
    }
    EXPECT_STREQ(made->name(), "uring");
    EXPECT_FALSE(made->is_simulated());
    EXPECT_FALSE(made->has_sources());
}

// A host that sleeps in poll(2) whenever Weir permits it.
TEST(Uring, GuestModeSleepsAndWakes) {
    for (const weir::driver_kind kind : drivers()) {
        weir::loop guest({.driver = kind});
        auto work = guest.spawn(echo_some(50));
        bool is_posted = false;
        std::thread other;
        int sleeps = 0;
        while (!work.done() || !is_posted) {
            if (guest.poll() || is_posted) {
                continue;
            }
            if (work.done() && !other.joinable()) {
                other = std::thread([&] {
                    std::this_thread::sleep_for(2ms);
                    guest.post([&] { is_posted = true; });
                });
            }
            int limit = 5000;
            if (const auto deadline = guest.next_deadline()) {
                const auto left =
                    std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - guest.now());
                limit = static_cast<int>(std::max(left + 1ms, 0ms).count());
            }
            pollfd state{guest.fd(), POLLIN, 0};
            const int ready = ::poll(&state, 1, limit);
            EXPECT_TRUE(ready > 0 || limit < 5000)
                << "it slept though there was work, on " << guest.get_driver().name();
            ASSERT_LT(++sleeps, 100'000);
        }
        other.join();
        EXPECT_EQ(work.result(), 250);
        guest.close();
    }
}

TEST(Uring, SignalsAndPostsWakeASleepingLoop) {
    for (const weir::driver_kind kind : drivers()) {
        weir::loop own({.driver = kind});
        int signals = 0;
        int posts = 0;
        own.on_signal(SIGUSR2, [&] { ++signals; });
        std::thread other([&] {
            for (int round = 0; round < 50; ++round) {
                own.post([&] { ++posts; });
                if (round % 10 == 0) {
                    ::kill(::getpid(), SIGUSR2);
                    std::this_thread::sleep_for(200us);
                }
            }
        });
        const auto waiting = [&]() -> weir::task<> {
            while (signals == 0 || posts < 50) {
                co_await weir::sleep(100us);
            }
        };
        own.run_until(waiting());
        other.join();
        EXPECT_GE(signals, 1);
        own.close();
    }
}

// Woken by a post alone: no timer helps.
TEST(Uring, APostWakesWhatSleepsForEver) {
    for (const weir::driver_kind kind : drivers()) {
        weir::loop own({.driver = kind});
        for (int round = 0; round < 20; ++round) {
            std::thread other([&] {
                std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
                own.post([&] { own.stop(); });
            });
            own.run_forever();
            other.join();
        }
        own.close();
    }
}

TEST(Uring, OneLoopOnTwoThreadsOneAfterTheOther) {
    for (const weir::driver_kind kind : drivers()) {
        weir::loop own({.driver = kind});
        EXPECT_EQ(own.run_until(echo_some(3)), 15);
        for (int round = 0; round < 3; ++round) {
            int count = 0;
            std::thread other([&] { count = own.run_until(echo_some(3)); });
            other.join();
            EXPECT_EQ(count, 15);
            EXPECT_EQ(own.run_until(echo_some(3)), 15);
            std::thread poster([&] { own.post([&] { own.stop(); }); });
            own.run_forever();
            poster.join();
        }
        own.close();
    }
}

// More operations in one turn than the ring has entries, before the first wait too.
WEIR_IO_TEST(Uring, MoreOperationsThanEntries) {
    std::vector<both_ends> pairs;
    for (int number = 0; number < 300; ++number) {
        pairs.push_back(unix_pair());
    }
    int count = 0;
    std::vector<weir::handle<void>> all;
    for (int round = 0; round < 3; ++round) {
        for (both_ends& each : pairs) {
            all.push_back(weir::spawn([&]() -> weir::task<> {
                lent buffer(10);
                const std::size_t got = co_await each.left.read(buffer.all());
                count += static_cast<int>(got);
            }));
            all.push_back(weir::spawn([&]() -> weir::task<> {
                lent buffer(10);
                const std::size_t got = co_await each.right.read(buffer.all());
                count += static_cast<int>(got);
            }));
        }
        if (round == 1) {
            co_await weir::yield();
            for (const auto& each : all) {
                each.cancel();
            }
            for (const auto& each : all) {
                co_await each.wait();
            }
            all.clear();
            continue;
        }
        for (both_ends& each : pairs) {
            all.push_back(weir::spawn([&]() -> weir::task<> { co_await each.left.write("x"); }));
            all.push_back(weir::spawn([&]() -> weir::task<> { co_await each.right.write("x"); }));
        }
        for (const auto& each : all) {
            co_await each;
        }
        all.clear();
    }
    EXPECT_EQ(count, 1200);
    co_await expect_no_damage(dice(0));
}

// The exit code of a function that runs in a forked child: 0 is success.
int in_child(const std::function<int()>& what) {
    const pid_t child = ::fork();
    if (child == 0) {
        int code = 99;
        try {
            code = what();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "in the child: %s\n", error.what());
        }
        ::_exit(code);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Uring, LoopsInAForkedChild) {
    for (const weir::driver_kind kind : drivers()) {
        weir::loop parent({.driver = kind});
        EXPECT_EQ(parent.run_until(echo_some(2)), 10);
        EXPECT_EQ(in_child([&] { return weir::run(echo_some(5), {.driver = kind}) == 25 ? 0 : 1; }),
                  0);
        EXPECT_EQ(parent.run_until(echo_some(2)), 10);
        parent.close();
    }
}

// From now on io_uring_setup fails in this process, as in many containers.
bool forbid_uring(int error) {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, steps};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::string why_no_loop(weir::driver_kind kind) {
    try {
        weir::loop made({.driver = kind});
        return made.get_driver().name();
    } catch (const weir::loop_error& error) {
        return error.what();
    }
}

TEST(Uring, WhereUringIsForbidden) {
    for (const int error : {EPERM, ENOSYS, ENOMEM}) {
        EXPECT_EQ(in_child([&] {
                      if (!forbid_uring(error)) {
                          return 0;  // no seccomp here: skip
                      }
                      ::unsetenv("WEIR_DRIVER");
                      const std::string none =
                          "io_uring was requested, but is not available: this weir::io was built "
                          "without it, or the kernel has none or forbids it";
                      EXPECT_EQ(why_no_loop(weir::driver_kind::automatic), "epoll");
                      EXPECT_EQ(why_no_loop(weir::driver_kind::uring), none);
                      EXPECT_EQ(weir::run(echo_some(3)), 15);
                      ::setenv("WEIR_DRIVER", "uring", 1);
                      EXPECT_EQ(why_no_loop(weir::driver_kind::automatic), none);
                      return ::testing::Test::HasFailure() ? 1 : 0;
                  }),
                  0);
    }
}

TEST(Uring, TheEnvironmentChooses) {
    EXPECT_EQ(in_child([] {
                  ::setenv("WEIR_DRIVER", "epoll", 1);
                  EXPECT_EQ(why_no_loop(weir::driver_kind::automatic), "epoll");
                  ::setenv("WEIR_DRIVER", "", 1);
                  EXPECT_NE(why_no_loop(weir::driver_kind::automatic), "");
                  ::setenv("WEIR_DRIVER", "io_uring", 1);
                  EXPECT_EQ(why_no_loop(weir::driver_kind::automatic),
                            "WEIR_DRIVER is 'io_uring'; it can be epoll or uring");
                  // The driver that the program names takes precedence over the environment.
                  EXPECT_EQ(why_no_loop(weir::driver_kind::epoll), "epoll");
                  if (drivers().size() > 1) {
                      ::setenv("WEIR_DRIVER", "uring", 1);
                      EXPECT_EQ(why_no_loop(weir::driver_kind::automatic), "uring");
                  }
                  return ::testing::Test::HasFailure() ? 1 : 0;
              }),
              0);
}

}  // namespace
}  // namespace attack
