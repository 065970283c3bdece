// SPDX-License-Identifier: MIT
// A server against thousands of clients that come and go in waves and reset at random: it leaks
// nothing, serves every other client, and has no connections left in the end. With WEIR_STRESS set,
// 9,000 connections at a time and many waves.

#include "hostile_client.hpp"
#include "support/io.hpp"
#include "support/sanitized.hpp"

#include <weir/detail/frame_pool.hpp>
#include <weir/fd.hpp>
#include <weir/io/serve.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

using namespace std::chrono_literals;

namespace {

namespace io = weir::io;
using stress::client_plan;

bool is_full() {
    return std::getenv("WEIR_STRESS") != nullptr;
}

// The number of connections that this process may hold, 9,000 at most.
unsigned connections_at_once() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t most = is_full() ? 9000 : 500;
    return static_cast<unsigned>(std::min(most, limit.rlim_cur - 100));
}

long resident_kilobytes() {
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    long total = 0;
    long pages = 0;
    if (file == nullptr || std::fscanf(file, "%ld %ld", &total, &pages) != 2) {
        std::abort();
    }
    std::fclose(file);
    return pages * (::sysconf(_SC_PAGESIZE) / 1024);
}

weir::task<> echo(io::socket peer, weir::tcp::session& session) {
    std::array<char, 1024> buffer;
    for (;;) {
        const std::optional<std::size_t> count = co_await session.idle(peer.read(buffer));
        if (count.value_or(0) == 0) {
            co_return;
        }
        co_await peer.write(io::bytes(buffer).first(*count));
    }
}

weir::task<int> exit_status(pid_t child) {
    const int watched = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    co_await weir::wait_readable(watched);
    ::close(watched);
    int status = -1;
    ::waitpid(child, &status, 0);
    co_return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Resets reach the server a little later than the client's end.
weir::task<> all_left(const weir::tcp::server_stats& stats) {
    while (stats.active > 0) {
        co_await weir::sleep(1ms);
    }
}

weir::task<> stop(const weir::handle<void>& server) {
    server.cancel();
    co_await server.wait();
}

void on_each_driver(weir::task<> (*body)()) {
    for (const weir::driver_kind kind : {weir::driver_kind::epoll, weir::driver_kind::uring}) {
        if (kind == weir::driver_kind::uring && io::make_uring_driver() == nullptr) {
            continue;
        }
        SCOPED_TRACE(kind == weir::driver_kind::epoll ? "epoll" : "io_uring");
        const std::ptrdiff_t before = weir_test::open_descriptors();
        weir::run(body(), {.driver = kind});
        EXPECT_EQ(weir_test::open_descriptors(), before);
    }
}

weir::task<> waves() {
    const std::size_t tasks_before = weir::all_tasks().size();
    weir::tcp::server_stats stats;
    io::listener listener = io::listen(io::address::loopback(0));
    client_plan plan{.port = listener.local_address().port(),
                     .connections = connections_at_once(),
                     .waves = is_full() ? 6U : 2U};
    const std::ptrdiff_t descriptors = weir_test::open_descriptors();
    const weir::handle<void> server =
        weir::spawn(weir::tcp::serve(std::move(listener), echo, {.stats = &stats}));

    std::array<long, 3> resident{};
    for (unsigned part = 0; part < resident.size(); ++part) {
        plan.seed = part + 1;
        const int status = co_await exit_status(stress::start_client(plan));
        EXPECT_EQ(status, 0);
        co_await weir::timeout(30s, all_left(stats));
        EXPECT_EQ(stats.active, 0U);
        resident[part] = resident_kilobytes();
    }
    EXPECT_EQ(stats.accepted, resident.size() * plan.waves * (plan.connections + 1));
    EXPECT_EQ(stats.failed, 0U);
    EXPECT_EQ(stats.accept_errors, 0U);
    EXPECT_EQ(weir_test::open_descriptors(), descriptors);
    // The memory of the first part is kept for reuse; the others need no more. A leak of a hundred
    // bytes per connection would be detected.
#if WEIR_RECYCLES_FRAMES
    const long bearable = 512 + static_cast<long>(plan.connections * plan.waves) / 10;
    EXPECT_LE(resident[2] - resident[1], bearable) << "KiB, after " << resident[1];
#endif
    co_await stop(server);
    EXPECT_EQ(weir::all_tasks().size(), tasks_before);
}

TEST(Stress, ClientsComeAndGoInWavesAndResetAtRandom) {
    on_each_driver(&waves);
}

// The smallest limit that leaves room for some more descriptors than there are.
class descriptor_limit {
public:
    explicit descriptor_limit(unsigned more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int next = ::dup(0);
        ::close(next);
        rlimit tight = before_;
        tight.rlim_cur = static_cast<rlim_t>(next) + more;
        ::setrlimit(RLIMIT_NOFILE, &tight);
    }
    descriptor_limit(const descriptor_limit&) = delete;
    descriptor_limit& operator=(const descriptor_limit&) = delete;
    ~descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

weir::task<> shortage() {
    weir::tcp::server_stats stats;
    io::listener listener = io::listen(io::address::loopback(0));
    const client_plan plan{.port = listener.local_address().port(),
                           .connections = 100,
                           .waves = is_full() ? 20U : 2U,
                           .in_good_order = true};
    const weir::handle<int> client = weir::spawn(exit_status(stress::start_client(plan)));
    co_await weir::sleep(1ms);  // its descriptor is open
    {
        const descriptor_limit tight(20);
        const weir::handle<void> server =
            weir::spawn(weir::tcp::serve(std::move(listener), echo, {.stats = &stats}));
        const int status = co_await client;
        EXPECT_EQ(status, 0);
        co_await stop(server);
    }
    EXPECT_EQ(stats.accepted, plan.waves * (plan.connections + 1));
    EXPECT_GT(stats.accept_errors, 0U);
    // One for each connection that left, and a few for the pauses: it does not spin.
    EXPECT_LE(stats.accept_errors, stats.accepted + 200);
    EXPECT_EQ(stats.failed, 0U);
}

// The sanitizer of undefined behaviour opens a pipe to see whether memory can be read, and treats
// memory that it cannot check as a broken object.
TEST(Stress, ARunOutOfDescriptorsIsWaitedOut) {
    if (weir_test::is_sanitized) {
        GTEST_SKIP() << "sanitizers need descriptors, too";
    }
    on_each_driver(&shortage);
}

}  // namespace
