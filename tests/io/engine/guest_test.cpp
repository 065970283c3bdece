// SPDX-License-Identifier: MIT
// Guest mode on both drivers. The host sleeps in poll(2) as long as the loop permits, so a wake-up
// that is missed shows as a host that has slept through its limit.

#include "io/attack/attack.hpp"

#include <weir/fd.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/channel.hpp>
#include <weir/io/pipe.hpp>
#include <weir/io/uring.hpp>
#include <weir/loop.hpp>
#include <weir/sync/event.hpp>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>

namespace attack {
namespace {

// An event loop that has Weir as a guest.
class host {
public:
    explicit host(weir::driver_kind kind) : guest({.driver = kind}) {}
    ~host() { guest.close(); }

    // True if that is reached without sleeping through the limit.
    template <class Condition>
    bool run_until(Condition is_reached) {
        while (!is_reached()) {
            if (!step()) {
                return false;
            }
        }
        return true;
    }
    // Nothing is left to do for the moment.
    void settle() {
        while (step(5ms)) {
        }
    }
    std::string name() { return guest.get_driver().name(); }

    weir::loop guest;

private:
    // False if the host slept that long.
    bool step(std::chrono::milliseconds limit = 3s) {
        const auto wait = std::min(limit, time_left().value_or(limit));
        pollfd state{guest.fd(), POLLIN, 0};
        const int ready = ::poll(&state, 1, static_cast<int>(wait.count()));
        if (ready > 0 || time_left() == 0ms) {
            while (guest.poll()) {
            }
        }
        return ready != 0 || wait < limit;  // a signal interrupts it
    }
    std::optional<std::chrono::milliseconds> time_left() {
        const auto deadline = guest.next_deadline();
        if (!deadline) {
            return std::nullopt;
        }
        const auto now = guest.now();
        return std::chrono::ceil<std::chrono::milliseconds>(std::max(*deadline, now) - now);
    }
};

void on_each_driver(const std::function<void(host&)>& scene) {
    for (const weir::driver_kind kind : {weir::driver_kind::epoll, weir::driver_kind::uring}) {
        if (kind == weir::driver_kind::uring && weir::io::make_uring_driver() == nullptr) {
            continue;
        }
        host own(kind);
        SCOPED_TRACE(own.name());
        scene(own);
    }
}

// Runs it on another thread, after the host has gone to sleep.
class elsewhere {
public:
    explicit elsewhere(std::function<void()> what)
        : thread_([what = std::move(what)] {
              std::this_thread::sleep_for(3ms);
              what();
          }) {}
    ~elsewhere() { thread_.join(); }

private:
    std::thread thread_;
};

// The first wake-up is not the last one.
TEST(Guest, EveryPostWakesTheHost) {
    on_each_driver([](host& own) {
        int ran = 0;
        for (int round = 1; round <= 8; ++round) {
            const elsewhere other([&] { own.guest.post([&] { ++ran; }); });
            EXPECT_TRUE(own.run_until([&] { return ran == round; })) << "post " << round;
        }
    });
}

TEST(Guest, APostBeforeTheFirstPollWakesTheHost) {
    on_each_driver([](host& own) {
        EXPECT_EQ(own.guest.next_deadline(), std::nullopt);
        bool ran = false;
        const elsewhere other([&] { own.guest.post([&] { ran = true; }); });
        EXPECT_TRUE(own.run_until([&] { return ran; }));
    });
}

TEST(Guest, APostBetweenARunAndGuestModeWakesTheHost) {
    on_each_driver([](host& own) {
        own.guest.run_until([]() -> weir::task<> { co_await weir::sleep(1ms); }());
        bool ran = false;
        const elsewhere other([&] { own.guest.post([&] { ran = true; }); });
        EXPECT_TRUE(own.run_until([&] { return ran; }));
        // And a run after guest mode is woken, too.
        const elsewhere another([&] { own.guest.post([&] { own.guest.stop(); }); });
        own.guest.run_forever();
    });
}

TEST(Guest, BlockingWorkWakesTheHost) {
    on_each_driver([](host& own) {
        auto calls = [&]() -> weir::task<> {
            for (int call = 0; call < 3; ++call) {
                co_await weir::run_blocking([] { std::this_thread::sleep_for(3ms); });
            }
        };
        const auto work = own.guest.spawn(calls());
        EXPECT_TRUE(own.run_until([&] { return work.done(); }));
    });
}

TEST(Guest, AChannelWakesTheHost) {
    on_each_driver([](host& own) {
        weir::channel<int> numbers(1);
        int sum = 0;
        auto receives = [&]() -> weir::task<> {
            while (const auto got = co_await numbers.receive()) {
                sum += *got;
            }
        };
        const auto work = own.guest.spawn(receives());
        for (int number = 1; number <= 4; ++number) {
            const int before = sum;
            const elsewhere other([&] { numbers.try_send(number); });
            EXPECT_TRUE(own.run_until([&] { return sum == before + number; })) << number;
        }
        numbers.close();
        EXPECT_TRUE(own.run_until([&] { return work.done(); }));
    });
}

TEST(Guest, SignalsWakeTheHost) {
    on_each_driver([](host& own) {
        int signals = 0;
        own.guest.on_signal(SIGUSR2, [&] { ++signals; });
        own.settle();
        for (int round = 1; round <= 4; ++round) {
            const elsewhere other([] { ::kill(::getpid(), SIGUSR2); });
            EXPECT_TRUE(own.run_until([&] { return signals == round; })) << round;
        }
        own.guest.remove_signal(SIGUSR2);
    });
}

// Newer kernels defer an event that is caused inside the write to an eventfd.
TEST(Guest, EventfdsOfTheProgramWakeTheHost) {
    on_each_driver([](host& own) {
        const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        const auto put = [&] {
            const std::uint64_t one = 1;
            EXPECT_EQ(::write(event, &one, sizeof one), 8);
        };
        int count = 0;
        auto watches = [&]() -> weir::task<> {
            for (;;) {
                co_await weir::wait_readable(event);
                std::uint64_t value = 0;
                EXPECT_EQ(::read(event, &value, sizeof value), 8);
                ++count;
            }
        };
        const auto watching = own.guest.spawn(watches());
        own.settle();
        for (int round = 1; round <= 4; ++round) {
            const elsewhere other(put);
            EXPECT_TRUE(own.run_until([&] { return count == round; })) << "watch " << round;
        }
        watching.cancel();
        EXPECT_TRUE(own.run_until([&] { return watching.done(); }));

        weir::io::pipe_reader reader(event);
        auto reads = [&]() -> weir::task<> {
            for (;;) {
                std::array<char, 8> value;
                co_await reader.read(value);
                ++count;
            }
        };
        const auto reading = own.guest.spawn(reads());
        own.settle();
        for (int round = 5; round <= 8; ++round) {
            const elsewhere other(put);
            EXPECT_TRUE(own.run_until([&] { return count == round; })) << "read " << round;
        }
        reading.cancel();
        EXPECT_TRUE(own.run_until([&] { return reading.done(); }));
    });
}

// An epoll descriptor of the program, with an eventfd in it.
TEST(Guest, EventfdsBehindAnEpollWakeTheHost) {
    on_each_driver([](host& own) {
        const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        const int outer = ::epoll_create1(EPOLL_CLOEXEC);
        epoll_event wanted{EPOLLIN, {}};
        EXPECT_EQ(::epoll_ctl(outer, EPOLL_CTL_ADD, event, &wanted), 0);
        int count = 0;
        auto watches = [&]() -> weir::task<> {
            for (;;) {
                co_await weir::wait_readable(outer);
                std::uint64_t value = 0;
                EXPECT_EQ(::read(event, &value, sizeof value), 8);
                ++count;
            }
        };
        const auto watching = own.guest.spawn(watches());
        own.settle();
        for (int round = 1; round <= 4; ++round) {
            const elsewhere other([&] {
                const std::uint64_t one = 1;
                EXPECT_EQ(::write(event, &one, sizeof one), 8);
            });
            EXPECT_TRUE(own.run_until([&] { return count == round; })) << round;
        }
        watching.cancel();
        EXPECT_TRUE(own.run_until([&] { return watching.done(); }));
        ::close(outer);
        ::close(event);
    });
}

// Each of these is done outside poll(); the host then asks for the deadline, as the contract says.
TEST(Guest, WorkBetweenPollsIsNotLeftLying) {
    on_each_driver([](host& own) {
        both_ends ends = unix_pair();
        auto reads = [&]() -> weir::task<> {
            std::array<char, 10> buffer;
            try {
                co_await ends.left.read(buffer);
            } catch (const weir::io_error&) {
            }
        };
        const auto stopped = own.guest.spawn(reads());
        own.settle();
        stopped.cancel();
        EXPECT_TRUE(own.run_until([&] { return stopped.done(); })) << "cancel of a read";

        const auto eager = own.guest.spawn(reads(), {.start = weir::start::eager});
        EXPECT_EQ(::write(ends.right.fd(), "x", 1), 1);
        EXPECT_TRUE(own.run_until([&] { return eager.done(); })) << "eager start of a read";

        const auto later = own.guest.spawn(reads());
        EXPECT_EQ(::write(ends.right.fd(), "x", 1), 1);
        EXPECT_TRUE(own.run_until([&] { return later.done(); })) << "start of a read";

        const auto closed = own.guest.spawn(reads());
        own.settle();
        ends.left.close();
        EXPECT_TRUE(own.run_until([&] { return closed.done(); })) << "close under a read";

        const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        auto watches = [&]() -> weir::task<> { co_await weir::wait_readable(event); };
        const auto watching = own.guest.spawn(watches());
        own.settle();
        watching.cancel();
        EXPECT_TRUE(own.run_until([&] { return watching.done(); })) << "cancel of a watch";
        ::close(event);

        bool rang = false;
        own.guest.call_later(2ms, [&] { rang = true; });
        EXPECT_TRUE(own.run_until([&] { return rang; })) << "timer";

        weir::event opened;
        auto awaits = [&]() -> weir::task<> { co_await opened.wait(); };
        const auto waiting = own.guest.spawn(awaits());
        own.settle();
        opened.set();
        EXPECT_TRUE(own.run_until([&] { return waiting.done(); })) << "event";
    });
}

// An operation that goes back to the kernel within a poll, without any task becoming ready.
TEST(Guest, ALargeTransferGoesOn) {
    on_each_driver([](host& own) {
        static constexpr std::size_t size = 20'000'000;
        both_ends ends = unix_pair();
        const std::string data(size, 'x');
        auto writes = [&]() -> weir::task<> { co_await ends.left.write(data); };
        const auto writing = own.guest.spawn(writes());
        std::size_t got = 0;
        std::thread peer([&] {
            std::string buffer(100'000, '\0');
            while (got < size) {
                pollfd state{ends.right.fd(), POLLIN, 0};
                ::poll(&state, 1, 5000);
                const ssize_t count =
                    ::recv(ends.right.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
                if (count == 0 || (count < 0 && errno != EAGAIN)) {
                    break;
                }
                got += count > 0 ? static_cast<std::size_t>(count) : 0;
            }
        });
        EXPECT_TRUE(own.run_until([&] { return writing.done(); }));
        if (!writing.done()) {
            ends.left.close();
        }
        peer.join();
        EXPECT_EQ(got, size);
    });
}

TEST(Guest, TheDeadlineOfReadyWorkIsNow) {
    on_each_driver([](host& own) {
        own.settle();
        EXPECT_EQ(own.guest.next_deadline(), std::nullopt);
        own.guest.call_soon([] {});
        const auto before = own.guest.now();
        const auto deadline = own.guest.next_deadline();
        EXPECT_TRUE(deadline && *deadline >= before && *deadline <= own.guest.now());
        own.settle();
        EXPECT_EQ(own.guest.next_deadline(), std::nullopt);
        const auto later = own.guest.call_later(1h, [] {});
        EXPECT_EQ(own.guest.next_deadline(), later.when());
    });
}

// The descriptor falls silent when there is nothing to do.
TEST(Guest, AnIdleGuestLetsItsHostSleep) {
    on_each_driver([](host& own) {
        const elsewhere other([&] { own.guest.post([] {}); });
        own.settle();
        std::this_thread::sleep_for(10ms);
        own.settle();
        pollfd state{own.guest.fd(), POLLIN, 0};
        EXPECT_EQ(::poll(&state, 1, 20), 0);
    });
}

}  // namespace
}  // namespace attack
