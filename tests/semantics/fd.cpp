// SPDX-License-Identifier: MIT
// LP-18: file descriptors.

#include <weir/fd.hpp>
#include <weir/testing/testing.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace {

using namespace std::chrono_literals;

struct socket_pair {
    std::array<int, 2> ends{};
    socket_pair() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    }
    socket_pair(const socket_pair&) = delete;
    socket_pair& operator=(const socket_pair&) = delete;
    ~socket_pair() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    void send(std::string_view text) const {
        EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
};

TEST(Semantics, LP_18) {
    weir::run([]() -> weir::task<> {
        socket_pair pair;
        const int fd = pair.ends[0];
        co_await weir::wait_writable(fd);

        // Level-triggered: unread data is reported again.
        pair.send("ab");
        for (int times = 0; times < 3; ++times) {
            co_await weir::timeout(5s, weir::wait_readable(fd));
        }
        char got = 0;
        EXPECT_EQ(::read(fd, &got, 1), 1);
        co_await weir::timeout(5s, weir::wait_readable(fd));
        EXPECT_EQ(::read(fd, &got, 1), 1);

        // Removing reports true once, then false.
        struct watch : weir::fd_watch {
            void fd_ready() noexcept override { ADD_FAILURE() << "removed"; }
        } watcher;
        auto& driver = dynamic_cast<weir::fd_driver&>(weir::loop::current().get_driver());
        driver.watch(fd, weir::readiness::readable, watcher);
        EXPECT_TRUE(driver.unwatch(fd, weir::readiness::readable));
        EXPECT_FALSE(driver.unwatch(fd, weir::readiness::readable));

        // Cancelling a wait is prompt, and unregisters.
        auto waiter = weir::spawn([&]() -> weir::task<> { co_await weir::wait_readable(fd); });
        co_await weir::sleep(1ms);
        waiter.cancel();
        EXPECT_FALSE(driver.unwatch(fd, weir::readiness::readable)) << "already unregistered";
        co_await waiter.wait();
        EXPECT_TRUE(waiter.cancelled());
        pair.send("c");
        co_await weir::timeout(5s, weir::wait_readable(fd));
    }());
}

}  // namespace
