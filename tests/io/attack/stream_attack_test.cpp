// SPDX-License-Identifier: MIT
// Streams whose operations are stopped at random: no byte is lost or doubled, no connection is
// lost, and the kernel touches no buffer after its task has gone.

#include "attack.hpp"

#include <weir/fd.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace attack {
namespace {

weir::task<> write_slowly(weir::io::socket& to, std::size_t total, dice& random) {
    std::size_t position = 0;
    while (position < total) {
        lent buffer(std::min(1 + random.below(3000), total - position));
        fill(buffer, position);
        co_await to.write(buffer.all());
        position += buffer.all().size();
        co_await pause(random);
    }
    co_await to.close_write();
}

struct reader_state {
    std::size_t position = 0;
    bool ended = false;
    bool is_wrong = false;
};

weir::task<> read_once(weir::io::socket& from, reader_state& state, std::size_t size) {
    lent buffer(size);
    const std::size_t count = co_await from.read(buffer.all());
    state.is_wrong |= !is_content(buffer.first(count), state.position);
    state.position += count;
    state.ended = count == 0;
}

// A wrong way: bytes that were taken are lost if the stop comes before they are passed on.
weir::task<> read_and_lose(weir::io::socket& from, reader_state& state, std::size_t size) {
    lent buffer(size);
    co_await from.readable();
    const ssize_t count = ::recv(from.fd(), buffer.begin(), size, MSG_DONTWAIT);
    co_await weir::yield();
    if (count >= 0) {
        state.is_wrong |=
            !is_content(buffer.first(static_cast<std::size_t>(count)), state.position);
        state.position += static_cast<std::size_t>(count);
        state.ended = count == 0;
    }
}

weir::task<> wait_once(weir::io::socket& from) {
    co_await from.readable();
}

using reader = weir::task<> (*)(weir::io::socket&, reader_state&, std::size_t);

// Reads all that comes, with stops at random. True if every byte came once and in order.
weir::task<bool> survives(reader read, unsigned seed) {
    dice random(seed);
    dice writers(seed + 1000);
    constexpr std::size_t total = 12'000;
    both_ends ends = co_await some_pair(random);
    auto writing = weir::spawn(write_slowly(ends.left, total, writers));
    reader_state state;
    for (int attempts = 0; !state.ended && attempts < 20'000; ++attempts) {
        const std::size_t size = 1 + random.below(1500);
        if (random.one_in(5)) {
            co_await disturb(weir::spawn(wait_once(ends.right)), random);
        } else if (random.one_in(3)) {
            const auto limit = std::chrono::microseconds(random.below(120));
            try {
                co_await weir::timeout(limit, read(ends.right, state, size));
            } catch (const weir::timed_out&) {
            }
        } else {
            co_await disturb(weir::spawn(read(ends.right, state, size)), random);
        }
    }
    writing.cancel();
    co_await writing.wait();
    co_return state.position == total && !state.is_wrong;
}

WEIR_IO_TEST(StreamAttack, NoByteIsLostWhenReadsAreStopped) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const bool is_whole = co_await survives(&read_once, seed);
        EXPECT_TRUE(is_whole) << "seed " << seed;
    }
    co_await expect_no_damage(dice(0));
}

WEIR_IO_TEST(StreamAttack, TheCheckSeesLostBytes) {
    int losses = 0;
    for (unsigned seed = 0; seed < 5; ++seed) {
        const bool is_whole = co_await survives(&read_and_lose, seed);
        losses += is_whole ? 0 : 1;
    }
    EXPECT_GT(losses, 0);
    retired.take_damaged();
}

// An operation that lets its task go while the 'kernel', here a callback, still has the buffer.
class hasty_read final : public weir::operation {
public:
    explicit hasty_read(lent& into) noexcept : into_(into.begin()) {}
    bool start() noexcept override {
        weir::loop::current().call_later(200us, [into = into_] { *into = 'x'; });
        return true;
    }
    bool cancel() noexcept override { return true; }
    void resume() const noexcept {}

private:
    char* into_;
};

WEIR_IO_TEST(StreamAttack, TheCheckSeesLateWrites) {
    auto hasty = weir::spawn([]() -> weir::task<> {
        lent buffer(100);
        co_await hasty_read(buffer);
    });
    co_await weir::yield();
    hasty.cancel();
    co_await hasty.wait();
    co_await weir::sleep(2ms);
    EXPECT_EQ(retired.take_damaged(), 1u);
}

struct received {
    std::string text;
    bool is_reset = false;
};

weir::task<> receive_all(weir::io::socket& from, received& into, dice& random) {
    try {
        for (;;) {
            lent buffer(1 + random.below(60'000));
            const std::size_t count = co_await from.read(buffer.all());
            if (count == 0) {
                co_return;
            }
            into.text += buffer.first(count);
            if (random.one_in(4)) {
                co_await pause(random);
            }
        }
    } catch (const weir::io_error&) {
        into.is_reset = true;
    }
}

weir::task<> write_all(weir::io::socket& to, std::size_t size, bool in_parts, bool& done) {
    if (!in_parts) {
        lent buffer(size);
        fill(buffer, 0);
        co_await to.write(buffer.all());
        done = true;
        co_return;
    }
    std::vector<lent> buffers;
    std::vector<weir::io::const_bytes> parts;
    for (std::size_t position = 0; position < size; position += size / 20 + 1) {
        buffers.emplace_back(std::min(size / 20 + 1, size - position));
        fill(buffers.back(), position);
        parts.push_back(buffers.back().all());
    }
    co_await to.write(parts);
    done = true;
}

WEIR_IO_TEST(StreamAttack, AStoppedWriteHasSentABeginning) {
    for (unsigned seed = 0; seed < 250; ++seed) {
        dice random(seed);
        dice readers(seed + 1000);
        both_ends ends = co_await some_pair(random);
        const std::size_t size = 1 + random.below(random.one_in(4) ? 900'000 : 20'000);
        bool is_done = false;
        received got;
        auto reading = weir::spawn(receive_all(ends.right, got, readers));
        co_await disturb(weir::spawn(write_all(ends.left, size, random.one_in(2), is_done)),
                         random);
        ends.left.close();
        co_await reading;
        EXPECT_FALSE(got.is_reset) << random.seed();
        EXPECT_TRUE(is_content(got.text, 0)) << random.seed();
        EXPECT_LE(got.text.size(), size) << random.seed();
        if (is_done) {
            EXPECT_EQ(got.text.size(), size) << random.seed();
        }
    }
    co_await expect_no_damage(dice(0));
}

weir::task<> accept_one(weir::io::listener& listener, std::vector<weir::io::socket>& into) {
    into.push_back(co_await listener.accept());
}

WEIR_IO_TEST(StreamAttack, NoConnectionIsLostWhenAcceptsAreStopped) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        dice random(seed);
        weir::io::listener listener = weir::io::listen(
            random.one_in(2) ? address::loopback(0)
                             : address::parse("unix:@weir-attack-" + std::to_string(::getpid())));
        std::vector<weir::io::socket> accepted;
        std::vector<weir::io::socket> connected;
        constexpr std::size_t count = 30;
        auto connecting = weir::spawn([&]() -> weir::task<> {
            dice pauses(seed + 1000);
            for (std::size_t number = 0; number < count; ++number) {
                connected.push_back(co_await weir::io::connect(listener.local_address()));
                co_await pause(pauses);
            }
        });
        while (accepted.size() < count) {
            // Several wait at once, and each is stopped on its own.
            auto patient = weir::spawn(accept_one(listener, accepted));
            auto stopped = weir::spawn(accept_one(listener, accepted));
            auto other = weir::spawn(accept_one(listener, accepted));
            co_await disturb(stopped, random, false);
            co_await disturb(other, random, false);
            patient.cancel();
            co_await patient.wait();
        }
        co_await connecting;
        EXPECT_EQ(accepted.size(), count) << random.seed();
    }
}

WEIR_IO_TEST(StreamAttack, StoppedConnectsLeaveNothing) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    auto serving = weir::spawn([&]() -> weir::task<> {
        for (;;) {
            const weir::io::socket each = co_await listener.accept();
        }
    });
    const std::ptrdiff_t before = weir_test::open_descriptors();
    for (unsigned seed = 0; seed < 300; ++seed) {
        dice random(seed);
        co_await disturb(weir::spawn(weir::io::connect(listener.local_address())), random);
        if (random.one_in(10)) {
            co_await weir::sleep(300us);
        }
    }
    co_await weir::sleep(2ms);
    EXPECT_EQ(weir_test::open_descriptors(), before);
    serving.cancel();
    co_await serving.wait();
}

// The numbers are closed at once after the wait has ended, and used again for other descriptors.
WEIR_IO_TEST(StreamAttack, WaitsForReadinessAreStoppedAndTheirNumbersReused) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        dice random(seed);
        int fds[2];
        EXPECT_EQ(::pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        auto waiting = weir::spawn([&]() -> weir::task<> { co_await weir::wait_readable(fds[0]); });
        auto room = weir::spawn([&]() -> weir::task<> { co_await weir::wait_writable(fds[1]); });
        co_await disturb(room, random);
        if (random.one_in(3)) {
            EXPECT_EQ(::write(fds[1], "x", 1), 1);
            co_await weir::yield();
        }
        waiting.cancel();
        co_await waiting.wait();
        ::close(fds[0]);
        ::close(fds[1]);
        // These have the same numbers: no task may get events of the old ones.
        EXPECT_EQ(::pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        auto fresh = weir::spawn([&]() -> weir::task<> { co_await weir::wait_readable(fds[0]); });
        co_await pause(random);
        EXPECT_FALSE(fresh.done()) << random.seed();
        EXPECT_EQ(::write(fds[1], "x", 1), 1);
        co_await fresh;
        ::close(fds[0]);
        ::close(fds[1]);
    }
}

}  // namespace
}  // namespace attack
