// SPDX-License-Identifier: MIT
// A task whose operations never have to wait leaves room for timers and for the driver. What counts
// is how many of its operations come between two looks at the clock, and between two polls of the
// driver: that does not depend on the speed of the machine. With WEIR_STRESS the ticks of a timer
// are counted on the real clock, too.

#include "io/attack/attack.hpp"
#include "io/engine/engine.hpp"

#include <weir/io/blocking.hpp>
#include <weir/io/channel.hpp>
#include <weir/io/file.hpp>
#include <weir/io/file_system.hpp>
#include <weir/io/pipe.hpp>
#include <weir/io/udp.hpp>
#include <weir/io/uring.hpp>
#include <weir/loop.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/sync/queue.hpp>

#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

namespace attack {
namespace {

namespace io = weir::io;

// How long a busy task has the loop for itself, in operations.
class meter {
public:
    void operation() noexcept {
        ++since_look_;
        ++since_poll_;
        ++total_;
    }
    void looked() noexcept { note(since_look_, longest_without_look_); }
    void polled() noexcept {
        note(since_poll_, longest_without_poll_);
        ++polls_;
    }

    long longest_without_look() const noexcept { return longest_without_look_; }
    long longest_without_poll() const noexcept { return longest_without_poll_; }
    long total() const noexcept { return total_; }
    long polls() const noexcept { return polls_; }

private:
    static void note(long& now, long& longest) noexcept {
        longest = std::max(longest, std::exchange(now, 0));
    }
    long since_look_ = 0;
    long since_poll_ = 0;
    long longest_without_look_ = 0;
    long longest_without_poll_ = 0;
    long total_ = 0;
    long polls_ = 0;
};

// Notes when the loop looks at the clock and when it polls.
template <class Base>
class metered_driver : public Base {
public:
    metered_driver(std::unique_ptr<weir::driver> inner, meter& into)
        : inner_(std::move(inner)), fds_(dynamic_cast<weir::fd_driver&>(*inner_)), meter_(into) {}

    const char* name() const noexcept override { return inner_->name(); }
    std::int64_t now() noexcept override {
        meter_.looked();
        return inner_->now();
    }
    void wait(std::int64_t deadline) override {
        meter_.polled();
        inner_->wait(deadline);
    }
    void wake() noexcept override { inner_->wake(); }
    bool has_sources() const noexcept override { return inner_->has_sources(); }
    bool has_unsubmitted() const noexcept override { return inner_->has_unsubmitted(); }
    bool wakes_from_signals() const noexcept override { return inner_->wakes_from_signals(); }
    void watch(int fd, weir::readiness direction, weir::fd_watch& watcher) override {
        fds_.watch(fd, direction, watcher);
    }
    bool unwatch(int fd, weir::readiness direction) noexcept override {
        return fds_.unwatch(fd, direction);
    }
    int attach(int fd, weir::fd_source& source) noexcept override {
        return fds_.attach(fd, source);
    }
    void detach(int fd, weir::fd_source& source) noexcept override { fds_.detach(fd, source); }
    void report_again(int fd, weir::fd_source& source) noexcept override {
        fds_.report_again(fd, source);
    }

protected:
    std::unique_ptr<weir::driver> inner_;

private:
    weir::fd_driver& fds_;
    meter& meter_;
};

class metered_ring final : public metered_driver<io::detail::completion_driver> {
public:
    using metered_driver::metered_driver;
    io::detail::engine* make_engine(const weir::detail::loop_core& home) override {
        return dynamic_cast<io::detail::completion_driver&>(*inner_).make_engine(home);
    }
};

std::unique_ptr<weir::driver> metered(weir::driver_kind kind, meter& into) {
    if (kind == weir::driver_kind::epoll) {
        return std::make_unique<metered_driver<weir::fd_driver>>(weir::make_epoll_driver(), into);
    }
    std::unique_ptr<weir::driver> ring = io::make_uring_driver();
    return ring == nullptr ? nullptr : std::make_unique<metered_ring>(std::move(ring), into);
}

using busy_task = std::function<weir::task<>(meter&)>;

// Runs the task until it has done so many operations, beside a timer and a descriptor that are
// waited for.
void measure(const busy_task& work, long operations,
             const std::function<void(const meter&)>& check) {
    for (const weir::driver_kind kind : {weir::driver_kind::epoll, weir::driver_kind::uring}) {
        meter counts;
        std::unique_ptr<weir::driver> driver = metered(kind, counts);
        if (driver == nullptr) {
            continue;
        }
        SCOPED_TRACE(driver->name());
        weir::loop own(std::move(driver));
        auto scene = [&]() -> weir::task<> {
            both_ends ends = unix_pair();
            auto idle = [&]() -> weir::task<> {
                std::array<char, 1> buffer;
                co_await ends.left.read(buffer);
            };
            const auto waits = weir::spawn(idle());
            const auto sleeps = weir::spawn([]() -> weir::task<> { co_await weir::sleep(1h); });
            const auto busy = weir::spawn(work(counts));
            while (counts.total() < operations && !busy.done()) {
                co_await weir::yield();
            }
            EXPECT_GE(counts.total(), operations);
            busy.cancel();
            co_await busy.wait();
        };
        own.run(scene());
        check(counts);
    }
}

void expect_at_most(const busy_task& work, long between_looks, long between_polls) {
    measure(work, 3000, [&](const meter& counts) {
        EXPECT_LE(counts.longest_without_look(), between_looks);
        EXPECT_LE(counts.longest_without_poll(), between_polls);
    });
}

// ---- system calls

weir::task<> sends_datagrams(meter& counts, std::size_t size) {
    const auto sink = weir::udp::bind(address::loopback(0));
    auto socket = weir::udp::connect(sink.local_address());
    const std::string data(size, 'x');
    for (;;) {
        co_await socket.send(data);
        counts.operation();
    }
}

weir::task<> writes_and_reads(meter& counts, std::size_t size) {
    both_ends ends = unix_pair();
    std::string data(size, 'x');
    for (;;) {
        co_await ends.left.write(data);
        counts.operation();
        co_await ends.right.read(data);
        counts.operation();
    }
}

weir::task<> uses_a_pipe(meter& counts) {
    auto [reader, writer] = io::make_pipe();
    std::string data(100, 'x');
    for (;;) {
        co_await writer.write(data);
        counts.operation();
        co_await reader.read(data);
        counts.operation();
    }
}

// 16 system calls in a turn, 4 more until the step ends; the driver is polled every fourth turn.
TEST(Fairness, SmallSystemCalls) {
    expect_at_most([](meter& counts) { return sends_datagrams(counts, 10); }, 20, 80);
    expect_at_most([](meter& counts) { return writes_and_reads(counts, 10); }, 20, 80);
    expect_at_most(uses_a_pipe, 20, 80);
}

// They count by their bytes.
TEST(Fairness, LargeSystemCalls) {
    expect_at_most([](meter& counts) { return sends_datagrams(counts, 60'000); }, 3, 12);
    expect_at_most([](meter& counts) { return writes_and_reads(counts, 60'000); }, 3, 12);
}

TEST(Fairness, Accepting) {
    auto accepts = [](meter& counts) -> weir::task<> {
        io::listener listener = io::listen(address::loopback(0));
        const address at = listener.local_address();
        for (;;) {
            std::vector<int> peers;
            for (int number = 0; number < 60; ++number) {
                peers.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
                EXPECT_EQ(::connect(peers.back(), at.data(), static_cast<socklen_t>(at.size())), 0);
            }
            for (const int peer : peers) {
                const io::socket accepted = co_await listener.accept();
                counts.operation();
                ::close(peer);
            }
        }
    };
    measure(accepts, 300, [](const meter& counts) {
        EXPECT_LE(counts.longest_without_look(), 4);
        EXPECT_LE(counts.longest_without_poll(), 16);
    });
}

// ---- memory

TEST(Fairness, OperationsInMemory) {
    auto locks = [](meter& counts) -> weir::task<> {
        weir::mutex mutex;
        for (;;) {
            const auto held = co_await mutex.lock();
            counts.operation();
        }
    };
    auto queues = [](meter& counts) -> weir::task<> {
        weir::queue<int> items(4);
        for (;;) {
            co_await items.put(1);
            counts.operation();
            co_await items.get();
            counts.operation();
        }
    };
    auto sends = [](meter& counts) -> weir::task<> {
        weir::channel<int> items(4);
        for (;;) {
            co_await items.send(1);
            counts.operation();
            co_await items.receive();
            counts.operation();
        }
    };
    const auto at_most = [](long between_looks) {
        return [between_looks](const meter& counts) {
            EXPECT_LE(counts.longest_without_look(), between_looks);
            EXPECT_LE(counts.longest_without_poll(), 4 * between_looks);
        };
    };
    measure(locks, 50'000, at_most(1280));
    measure(queues, 50'000, at_most(1280));
    measure(sends, 50'000, at_most(320));
}

// What a task starts eagerly is done in its own step.
TEST(Fairness, EagerChildrenCountForTheirParent) {
    auto starts = [](meter& counts) -> weir::task<> {
        const auto sink = weir::udp::bind(address::loopback(0));
        auto socket = weir::udp::connect(sink.local_address());
        weir::mutex mutex;
        auto child = [&]() -> weir::task<> {
            co_await socket.send("x");
            counts.operation();
        };
        for (;;) {
            const auto started = weir::spawn(child(), {.start = weir::start::eager});
            co_await started;
            const auto held = co_await mutex.lock();
        }
    };
    expect_at_most(starts, 20, 80);
}

// ---- one large operation

// It is carried out in parts, with polls between them, however fast its peer takes them.
TEST(Fairness, ALargeWriteHasPauses) {
    static constexpr std::size_t size = 64 << 20;
    auto writes = [](meter& counts) -> weir::task<> {
        both_ends ends = co_await tcp_pair();
        std::atomic<bool> is_over{false};
        std::thread peer([&, fd = ends.right.fd()] {
            std::string buffer(1 << 20, '\0');
            while (!is_over) {
                ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
            }
        });
        const std::string data(size, 'x');
        co_await ends.left.write(data);
        const io::const_bytes parts[] = {data, data};
        co_await ends.left.write(parts);
        is_over = true;
        peer.join();
        counts.operation();
    };
    for (const weir::driver_kind kind : {weir::driver_kind::epoll, weir::driver_kind::uring}) {
        meter counts;
        std::unique_ptr<weir::driver> driver = metered(kind, counts);
        if (driver == nullptr) {
            continue;
        }
        SCOPED_TRACE(driver->name());
        weir::loop own(std::move(driver));
        own.run(writes(counts));
        EXPECT_GE(counts.polls(), static_cast<long>(3 * size >> 20)) << "at most 1 MiB each";
    }
}

// ---- the real clock

struct kind_of_task {
    const char* name;
    busy_task work;
};

std::vector<kind_of_task> kinds_of_tasks() {
    return {
        {"datagrams", [](meter& counts) { return sends_datagrams(counts, 64); }},
        {"large datagrams", [](meter& counts) { return sends_datagrams(counts, 60'000); }},
        {"sockets", [](meter& counts) { return writes_and_reads(counts, 64); }},
        {"sockets, 60 kB", [](meter& counts) { return writes_and_reads(counts, 60'000); }},
        {"pipes", uses_a_pipe},
        {"blocking calls",
         [](meter& counts) -> weir::task<> {
             for (;;) {
                 co_await weir::run_blocking([] {});
                 counts.operation();
             }
         }},
        {"files",
         [](meter& counts) -> weir::task<> {
             io::file zeros = co_await io::file::open("/dev/zero");
             std::string buffer(100'000, ' ');
             for (;;) {
                 co_await zeros.read(buffer);
                 counts.operation();
             }
         }},
        {"timers",
         [](meter& counts) -> weir::task<> {
             for (;;) {
                 co_await weir::sleep(0s);
                 counts.operation();
             }
         }},
    };
}

// Needs a machine with nothing else to do, so it belongs to the soak.
TEST(Fairness, ATickerBesideABusyTask) {
    if (std::getenv("WEIR_STRESS") == nullptr) {
        GTEST_SKIP() << "set WEIR_STRESS to measure on the real clock";
    }
    for (const kind_of_task& kind : kinds_of_tasks()) {
        for (const weir::driver_kind driver :
             {weir::driver_kind::epoll, weir::driver_kind::uring}) {
            if (driver == weir::driver_kind::uring && io::make_uring_driver() == nullptr) {
                continue;
            }
            int best = 0;
            for (int attempt = 0; attempt < 5 && best < 950; ++attempt) {
                int ticks = 0;
                auto scene = [&]() -> weir::task<> {
                    meter counts;
                    const auto busy = weir::spawn(kind.work(counts));
                    auto tick = [&]() -> weir::task<> {
                        for (;; ++ticks) {
                            co_await weir::sleep(1ms);
                        }
                    };
                    const auto ticking = weir::spawn(tick());
                    co_await weir::sleep(1s);
                    busy.cancel();
                    ticking.cancel();
                    co_await busy.wait();
                };
                weir::run(scene(), {.driver = driver});
                best = std::max(best, ticks);
            }
            EXPECT_GE(best, 950) << kind.name << " on "
                                 << (driver == weir::driver_kind::epoll ? "epoll" : "uring");
        }
    }
}

}  // namespace
}  // namespace attack
