// SPDX-License-Identifier: MIT
// Sockets closed or destroyed while tasks use them, and loops that end with operations under way.

#include "attack.hpp"

#include <weir/fd.hpp>

#include <array>

namespace attack {
namespace {

struct ending {
    int finished = 0;
    int closed = 0;
    int other = 0;
};

// Until an error reports that the socket was closed.
weir::task<> use(std::shared_ptr<both_ends> ends, unsigned way, ending& how) {
    try {
        for (;;) {
            lent buffer(5000);
            if (way == 0) {
                const std::size_t count = co_await ends->left.read(buffer.all());
                if (count == 0) {
                    ++how.finished;  // wrong: the peer has not ended anything
                    co_return;
                }
            } else if (way == 1) {
                co_await ends->left.write(buffer.all());
            } else if (way == 2) {
                co_await ends->left.readable();
                co_await weir::yield();
            } else {
                const weir::io::const_bytes parts[] = {buffer.all(), buffer.all()};
                co_await ends->left.write(parts);
            }
        }
    } catch (const weir::io_error& error) {
        const bool says_so = error.code() == std::errc::operation_canceled ||
                             error.code() == std::errc::bad_file_descriptor;
        ++(says_so ? how.closed : how.other);
        if (!says_so) {
            ADD_FAILURE() << error.what();
        }
    }
}

WEIR_IO_TEST(ClosingAttack, ClosingEndsWhateverIsUnderWay) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        dice random(seed);
        auto ends = std::make_shared<both_ends>(co_await some_pair(random));
        ends->left.set_send_buffer(20'000);
        ending how;
        auto reading = weir::spawn(use(ends, random.one_in(2) ? 0 : 2, how));
        auto writing = weir::spawn(use(ends, random.one_in(2) ? 1 : 3, how));
        if (random.one_in(2)) {
            co_await ends->right.write("some bytes");
        }
        co_await pause(random);
        ends->left.close();
        if (random.one_in(4)) {
            (random.one_in(2) ? reading : writing).cancel();
        }
        co_await reading.wait();
        co_await writing.wait();
        EXPECT_EQ(how.finished, 0) << random.seed();
        EXPECT_EQ(how.other, 0) << random.seed();
        EXPECT_EQ(how.closed + reading.cancelled() + writing.cancelled(), 2) << random.seed();
        // The peer sees the end, or a reset if it had sent data that was not read.
        try {
            for (;;) {
                std::array<char, 50'000> buffer;
                const std::size_t count = co_await ends->right.read(buffer);
                if (count == 0) {
                    break;
                }
            }
        } catch (const weir::io_error&) {
        }
    }
    co_await expect_no_damage(dice(0));
}

// An operation that was made, and closed before its task came to start it: its share of the turn
// was used up.
WEIR_IO_TEST(ClosingAttack, ClosedBeforeItBegan) {
    both_ends ends = unix_pair();
    std::array<char, 10> buffer;
    auto made = ends.left.read(buffer);
    ends.left.close();
    try {
        co_await made;
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.code(), std::errc::operation_canceled);
    }
    for (unsigned seed = 0; seed < 100; ++seed) {
        dice random(seed);
        ends = unix_pair();
        auto greedy = weir::spawn([&]() -> weir::task<> {
            try {
                for (;;) {
                    co_await ends.left.write("x");
                    const std::size_t count = co_await ends.right.read(buffer);
                    EXPECT_EQ(count, 1u);
                }
            } catch (const weir::io_error&) {
            }
        });
        co_await pause(random);
        ends.left.close();
        ends.right.close();
        co_await greedy;
    }
}

WEIR_IO_TEST(ClosingAttack, AListenerClosedWhileTasksAccept) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        dice random(seed);
        auto listener =
            std::make_unique<weir::io::listener>(weir::io::listen(address::loopback(0)));
        int ended = 0;
        std::vector<weir::handle<void>> accepting;
        for (int task = 0; task < 3; ++task) {
            accepting.push_back(weir::spawn([&]() -> weir::task<> {
                try {
                    for (;;) {
                        const weir::io::socket each = co_await listener->accept();
                    }
                } catch (const weir::io_error& error) {
                    const bool says_so = error.code() == std::errc::operation_canceled ||
                                         error.code() == std::errc::bad_file_descriptor;
                    EXPECT_TRUE(says_so) << error.what() << ", " << random.seed();
                    ++ended;
                }
            }));
        }
        auto arriving = weir::spawn(weir::io::connect(listener->local_address()));
        co_await pause(random);
        listener->close();
        for (const auto& each : accepting) {
            co_await each;
        }
        EXPECT_EQ(ended, 3) << random.seed();
        arriving.cancel();
        co_await arriving.wait();
    }
}

// Everything that can be awaited, left behind when main returns.
weir::task<> leave_everything_under_way() {
    static unsigned seed = 0;
    dice random(++seed);
    auto idle = std::make_shared<both_ends>(co_await some_pair(random));
    auto busy = std::make_shared<both_ends>(co_await some_pair(random));
    auto listener = std::make_shared<weir::io::listener>(weir::io::listen(address::loopback(0)));
    weir::spawn([](auto on) -> weir::task<> {
        lent buffer(4000);
        co_await on->left.read(buffer.all());
    }(idle));
    weir::spawn([](auto on) -> weir::task<> {
        lent buffer(3'000'000);
        co_await on->left.write(buffer.all());
    }(busy));
    weir::spawn([](auto on) -> weir::task<> { co_await on->right.readable(); }(idle));
    weir::spawn([](auto on) -> weir::task<> { co_await on->accept(); }(listener));
    weir::spawn([](auto on) -> weir::task<> {
        co_await weir::wait_readable(on->fd());
    }(std::make_shared<weir::io::socket>(unix_pair().left)));
    co_await pause(random);
    if (random.one_in(2)) {
        co_await idle->right.write("late bytes");
    }
}

TEST(ClosingAttack, LoopsEndWithOperationsUnderWay) {
    for (const weir::driver_kind kind : {weir::driver_kind::epoll, weir::driver_kind::uring}) {
        if (kind == weir::driver_kind::uring && weir::io::make_uring_driver() == nullptr) {
            continue;
        }
        for (int round = 0; round < 40; ++round) {
            weir_test::run_io(kind, &leave_everything_under_way);
        }
        EXPECT_EQ(retired.take_damaged(), 0u);
    }
}

// A socket may outlive its loop, and serve another one.
TEST(ClosingAttack, SocketsGoFromLoopToLoop) {
    for (const weir::driver_kind kind : {weir::driver_kind::epoll, weir::driver_kind::uring}) {
        if (kind == weir::driver_kind::uring && weir::io::make_uring_driver() == nullptr) {
            continue;
        }
        const std::ptrdiff_t before = weir_test::open_descriptors();
        {
            both_ends ends = unix_pair();
            std::array<char, 10> buffer;
            for (int round = 0; round < 5; ++round) {
                const auto echo = [&]() -> weir::task<> {
                    auto waiting = weir::spawn([&]() -> weir::task<> {
                        lent into(100);
                        co_await ends.left.read(into.all());
                    });
                    co_await weir::yield();
                    waiting.cancel();
                    co_await waiting.wait();
                    co_await ends.left.write("x");
                    const std::size_t count = co_await ends.right.read(buffer);
                    EXPECT_EQ(count, 1u);
                };
                weir::run(echo(), {.driver = kind});
            }
        }
        EXPECT_EQ(weir_test::open_descriptors(), before);
        EXPECT_EQ(retired.take_damaged(), 0u);
    }
}

}  // namespace
}  // namespace attack
