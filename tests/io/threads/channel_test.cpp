// SPDX-License-Identifier: MIT
// channel: order, bounds, the end, cancellation of waiters, and the cost of waking another loop.

#include "support.hpp"
#include "support/loops.hpp"

#include <weir/io/channel.hpp>
#include <weir/stream.hpp>
#include <weir/weir.hpp>

#include <map>
#include <set>

namespace {

using namespace io_threads_tests;
using weir::channel;
using weir::task;

static_assert(weir::stream<channel<int>>);

WEIR_TEST(Channel, FirstInFirstOutAndBounded) {
    channel<int> numbers(3);
    auto sender = weir::spawn([&]() -> task<> {
        for (int number = 0; number < 20; ++number) {
            co_await numbers.send(number);
            EXPECT_LE(numbers.size(), 3u);
        }
        numbers.close();
    });
    std::vector<int> got;
    while (auto number = co_await numbers.receive()) {
        got.push_back(*number);
    }
    co_await sender;
    EXPECT_EQ(got.size(), 20u);
    EXPECT_TRUE(std::ranges::is_sorted(got));
    const auto after = co_await numbers.next();
    EXPECT_FALSE(after);
    EXPECT_EQ(numbers.capacity(), 3u);
    EXPECT_EQ(numbers.stats().sent, 20u);
}

WEIR_TEST(Channel, TriesNeverWait) {
    channel<std::unique_ptr<int>> boxes(1);
    EXPECT_FALSE(boxes.try_receive());
    auto first = std::make_unique<int>(1);
    EXPECT_TRUE(boxes.try_send(std::move(first)));
    EXPECT_EQ(first, nullptr);
    auto second = std::make_unique<int>(2);
    EXPECT_FALSE(boxes.try_send(std::move(second)));
    EXPECT_NE(second, nullptr) << "refused, and untouched";
    const auto taken = boxes.try_receive();
    WEIR_ASSERT_TRUE(taken);
    EXPECT_EQ(**taken, 1);
    EXPECT_FALSE(boxes.is_closed());
    boxes.close();
    boxes.close();
    EXPECT_TRUE(boxes.is_closed());
    EXPECT_FALSE(boxes.try_send(std::move(second)));
    EXPECT_NE(second, nullptr);
    co_await weir::yield();
}

WEIR_TEST(Channel, ClosingGivesSendersTheirItemBackAndReceiversWhatIsThere) {
    channel<std::unique_ptr<int>> boxes(2);
    co_await boxes.send(std::make_unique<int>(1));
    co_await boxes.send(std::make_unique<int>(2));
    int returned = 0;
    auto sender = weir::spawn([&]() -> task<> {
        try {
            co_await boxes.send(std::make_unique<int>(3));
        } catch (weir::unsent<std::unique_ptr<int>>& back) {
            EXPECT_STREQ(back.what(), "the channel is closed");
            returned = *back.item();
        }
    });
    co_await weir::testing::settle_all();
    EXPECT_EQ(boxes.stats().waiting_senders, 1u);
    boxes.close();
    co_await sender;
    EXPECT_EQ(returned, 3);
    WEIR_EXPECT_THROW(boxes.send(std::make_unique<int>(4)), weir::channel_closed);
    const auto one = co_await boxes.receive();
    const auto two = co_await boxes.receive();
    const auto end = co_await boxes.receive();
    EXPECT_EQ(**one + **two, 3);
    EXPECT_FALSE(end);

    channel<int> empty(1);
    auto receiver =
        weir::spawn([&]() -> task<bool> { co_return (co_await empty.receive()).has_value(); });
    co_await weir::testing::settle_all();
    empty.close();
    const bool got_one = co_await receiver;
    EXPECT_FALSE(got_one);
    EXPECT_THROW(channel<int>(0), weir::invalid_argument);
}

// A receiver is woken, and stopped before it has run: the item goes to the next one.
WEIR_TEST(Channel, AStoppedReceiverPassesItsItemOn) {
    channel<int> numbers(2);
    int got = 0;
    auto first = weir::spawn([&]() -> task<> {
        (void)co_await numbers.receive();
        ADD_FAILURE() << "was stopped";
    });
    co_await weir::testing::settle_all();
    auto second = weir::spawn([&]() -> task<> {
        const auto item = co_await numbers.receive();
        got = item.value_or(-1);
    });
    co_await weir::testing::settle_all();
    EXPECT_TRUE(numbers.try_send(7));
    first.cancel();
    co_await second;
    EXPECT_EQ(got, 7);
    co_await first.wait();
    EXPECT_TRUE(first.cancelled());

    // Without another waiter, the item goes to the next receiver, before items that were sent
    // later.
    auto third = weir::spawn([&]() -> task<> { (void)co_await numbers.receive(); });
    co_await weir::testing::settle_all();
    EXPECT_TRUE(numbers.try_send(8));
    EXPECT_TRUE(numbers.try_send(9));
    third.cancel();
    co_await third.wait();
    const auto eight = numbers.try_receive();
    const auto nine = numbers.try_receive();
    EXPECT_EQ(eight, 8);
    EXPECT_EQ(nine, 9);
}

WEIR_TEST(Channel, AStoppedSenderPassesItsPlaceOn) {
    channel<int> numbers(1);
    co_await numbers.send(0);
    auto first = weir::spawn([&]() -> task<> { co_await numbers.send(1); });
    co_await weir::testing::settle_all();
    auto second = weir::spawn([&]() -> task<> { co_await numbers.send(2); });
    co_await weir::testing::settle_all();
    EXPECT_EQ(numbers.try_receive(), 0);
    EXPECT_FALSE(numbers.try_send(5)) << "the place is promised";
    first.cancel();
    co_await second;
    co_await first.wait();
    EXPECT_EQ(numbers.try_receive(), 2);
    EXPECT_FALSE(numbers.try_receive()) << "what was not sent is not there";
    // A receiver that has a claim while the channel is closed still gets its item.
    auto receiver = weir::spawn([&]() -> task<int> {
        const auto item = co_await numbers.receive();
        co_return item.value_or(-1);
    });
    co_await weir::testing::settle_all();
    co_await numbers.send(3);
    numbers.close();
    const int last = co_await receiver;
    EXPECT_EQ(last, 3);
}

// One of two receivers has a claim on the last item of a closed channel, and is stopped: the other,
// which would have got the end, gets the item.
WEIR_TEST(Channel, TheEndWaitsForClaims) {
    channel<int> numbers(2);
    auto first = weir::spawn([&]() -> task<> { (void)co_await numbers.receive(); });
    co_await weir::testing::settle_all();
    std::vector<int> got;
    auto second = weir::spawn([&]() -> task<> {
        while (auto item = co_await numbers.receive()) {
            got.push_back(*item);
        }
    });
    co_await weir::testing::settle_all();
    EXPECT_TRUE(numbers.try_send(4));
    numbers.close();
    first.cancel();
    co_await second;
    co_await first.wait();
    EXPECT_EQ(got, std::vector<int>{4});
}

WEIR_TEST(Channel, IsAStream) {
    channel<int> numbers(4);
    auto sender = weir::spawn([&]() -> task<> {
        for (int number = 1; number <= 10; ++number) {
            co_await numbers.send(number);
        }
        numbers.close();
    });
    int sum = 0;
    while (auto each = co_await numbers.next()) {
        sum += *each;
        co_await weir::sleep(1s);
    }
    EXPECT_EQ(sum, 55);
    co_await sender;
}

// Random senders and receivers on one loop, stopped at random, under the schedules of the
// environment. Every item that was sent arrives exactly once, each sender's in order.
WEIR_TEST(Channel, RandomCancelsOnOneLoop) {
    dice random(11);
    for (int round = 0; round < 30; ++round) {
        channel<std::pair<int, int>> items(1 + random.below(4));
        std::map<int, int> sent;
        std::map<int, int> last;
        int received = 0;
        auto send = [&](int own) -> task<> {
            for (int number = 0; number < 20; ++number) {
                co_await items.send({own, number});
                sent[own] = number + 1;
            }
        };
        auto receive = [&]() -> task<> {
            while (auto item = co_await items.receive()) {
                ++received;
                EXPECT_EQ(item->second, last[item->first]++);
            }
        };
        std::vector<weir::handle<void>> senders;
        std::vector<weir::handle<void>> receivers;
        for (int number = 0; number < 4; ++number) {
            senders.push_back(weir::spawn(send, number));
            receivers.push_back(weir::spawn(receive));
        }
        for (int turn = 0; turn < 40; ++turn) {
            co_await weir::yield();
            if (random.one_in(6)) {
                senders[random.below(4)].cancel();
            }
            if (random.one_in(6)) {
                auto& stopped = receivers[random.below(4)];
                stopped.cancel();
                co_await stopped.wait();
                stopped = weir::spawn(receive);
            }
        }
        for (const auto& each : senders) {
            co_await each.wait();
        }
        items.close();
        for (const auto& each : receivers) {
            co_await each.wait();
        }
        int total = 0;
        for (const auto& [own, count] : sent) {
            total += count;
            EXPECT_EQ(last[own], count);
        }
        EXPECT_EQ(received, total);
    }
}

// ---- threads

TEST(Channel, PlainThreadsBlock) {
    channel<int> numbers(2);
    EXPECT_TRUE(numbers.try_send(1));
    long sum = 0;
    joined_threads threads;
    threads.start([&] {
        while (auto number = numbers.receive_blocking()) {
            sum += *number;
        }
    });
    for (int number = 2; number <= 1000; ++number) {
        numbers.send_blocking(number);
    }
    numbers.close();
    threads.join();
    EXPECT_EQ(sum, 500'500);
    EXPECT_THROW(numbers.send_blocking(1), weir::unsent<int>);
    EXPECT_FALSE(numbers.receive_blocking());

    channel<int> full(1);
    full.send_blocking(0);
    threads.start([&] { EXPECT_THROW(full.send_blocking(1), weir::channel_closed); });
    EXPECT_TRUE(soon([&] { return full.stats().waiting_senders == 1; }));
    full.close();
    threads.join();

    weir::run([]() -> task<> {
        channel<int> unused(1);
        EXPECT_THROW(unused.send_blocking(1), weir::loop_error);
        EXPECT_THROW(unused.receive_blocking(), weir::loop_error);
        co_return;
    }());
}

// Counts the system calls that wake a loop.
class wake_counter final : public weir::driver {
public:
    wake_counter(std::atomic<int>& wakes, std::atomic<bool>& is_waiting)
        : wakes_(wakes), is_waiting_(is_waiting) {}
    const char* name() const noexcept override { return inner_->name(); }
    std::int64_t now() noexcept override { return inner_->now(); }
    void wait(std::int64_t deadline) override {
        is_waiting_ = true;
        inner_->wait(deadline);
        is_waiting_ = false;
    }
    void wake() noexcept override {
        ++wakes_;
        inner_->wake();
    }
    bool has_sources() const noexcept override { return inner_->has_sources(); }
    int fd() const noexcept override { return inner_->fd(); }

private:
    std::unique_ptr<weir::driver> inner_ = weir::make_epoll_driver();
    std::atomic<int>& wakes_;
    std::atomic<bool>& is_waiting_;
};

TEST(Channel, WakingALoopCostsOneCallAndNoneWhileItIsAwake) {
    std::atomic<int> wakes = 0;
    std::atomic<bool> is_waiting = false;
    channel<int> numbers(1000);
    channel<int> more(1000);
    gate entrance;
    std::atomic<bool> is_held = false;
    int received = 0;
    joined_threads threads;
    threads.start([&] {
        auto main = [&]() -> task<> {
            // Several receivers of two channels: a batch still costs one call.
            auto receive = [&](channel<int>& from) -> task<> {
                while (auto each = co_await from.receive()) {
                    ++received;
                    if (*each == -1) {
                        is_held = true;
                        entrance.pass();  // the loop is awake, and busy
                    }
                }
            };
            co_await weir::gather(receive(numbers), receive(numbers), receive(more));
        };
        weir::loop(std::make_unique<wake_counter>(wakes, is_waiting)).run(main());
    });
    auto sleeps = [&] { return is_waiting && more.stats().waiting_receivers == 1; };
    ASSERT_TRUE(soon(sleeps));
    const int before = wakes;
    for (int number = 0; number < 500; ++number) {
        ASSERT_TRUE(numbers.try_send(number == 0 ? -1 : number));  // the first holds the loop
        if (number == 0) {
            ASSERT_TRUE(soon([&] { return is_held.load(); }));
        }
    }
    ASSERT_TRUE(more.try_send(1));
    EXPECT_EQ(wakes - before, 1) << "one for the first; the loop was awake for all others";
    entrance.open();
    ASSERT_TRUE(soon([&] { return numbers.size() == 0 && more.size() == 0; }));
    numbers.close();
    more.close();
    threads.join();
    EXPECT_EQ(received, 501);
}

// Many loops and threads on both sides; senders and receivers on loops are stopped and started
// again at random. Every item whose send returned arrives once; the item of a stopped send does
// not.
TEST(Channel, ManyLoopsThreadsAndRandomCancels) {
    constexpr int loop_pairs = 2;
    constexpr int thread_pairs = 1;
    constexpr int each = 1500;
    channel<int> items(7);
    std::mutex mutex;
    std::multiset<int> sent;
    std::multiset<int> received;
    auto note = [&](std::multiset<int>& where, int item) {
        const std::lock_guard lock(mutex);
        where.insert(item);
    };
    std::atomic<int> senders_left = loop_pairs + thread_pairs;
    auto sender_ended = [&] {
        if (--senders_left == 0) {
            items.close();
        }
    };
    joined_threads threads;
    for (int pair = 0; pair < loop_pairs; ++pair) {
        threads.start([&, pair] {
            auto main = [&]() -> task<> {
                dice random(static_cast<unsigned>(pair) + 100);
                int next = pair * 1'000'000;
                const int end = next + each;
                auto send = [&]() -> task<> {
                    while (next < end) {
                        const int own = next;
                        co_await items.send(own);
                        note(sent, own);
                        ++next;
                    }
                };
                while (next < end) {
                    auto sender = weir::spawn(send);
                    co_await weir::sleep(std::chrono::microseconds(random.below(400)));
                    sender.cancel();
                    co_await sender.wait();
                    // The item of a stopped send is not sent: its number may be missing.
                    next += random.below(2) == 0 ? 0 : 1;
                }
            };
            weir::run(main());
            sender_ended();
        });
        threads.start([&, pair] {
            auto main = [&]() -> task<> {
                dice random(static_cast<unsigned>(pair) + 200);
                bool at_end = false;
                auto receive = [&]() -> task<> {
                    while (auto item = co_await items.receive()) {
                        note(received, *item);
                    }
                    at_end = true;
                };
                while (!at_end) {
                    auto receiver = weir::spawn(receive);
                    auto other = weir::spawn(receive);
                    co_await weir::sleep(std::chrono::microseconds(random.below(300)));
                    receiver.cancel();
                    other.cancel();
                    co_await receiver.wait();
                    co_await other.wait();
                }
            };
            weir::run(main());
        });
    }
    for (int pair = 0; pair < thread_pairs; ++pair) {
        threads.start([&, pair] {
            for (int number = 0; number < each; ++number) {
                const int own = 100'000'000 + pair * 1'000'000 + number;
                items.send_blocking(own);
                note(sent, own);
            }
            sender_ended();
        });
        threads.start([&] {
            while (auto item = items.receive_blocking()) {
                note(received, *item);
            }
        });
    }
    threads.join();
    EXPECT_EQ(sent, received);
    const weir::channel_stats counts = items.stats();
    EXPECT_EQ(counts.sent, received.size());
    EXPECT_EQ(counts.items + counts.waiting_receivers + counts.waiting_senders, 0u);
}

// Each sender's items arrive in its order, also across loops.
TEST(Channel, OrderAcrossLoops) {
    constexpr int count = 20'000;
    channel<int> numbers(64);
    joined_threads threads;
    threads.start([&] {
        weir::run([&]() -> task<> {
            for (int number = 0; number < count; ++number) {
                co_await numbers.send(number);
            }
            numbers.close();
        }());
    });
    int expected = 0;
    weir::run([&]() -> task<> {
        while (auto number = co_await numbers.receive()) {
            EXPECT_EQ(*number, expected++);
        }
    }());
    EXPECT_EQ(expected, count);
}

// The loop of a receiver is gone, together with the receiver, which it had to give up on.
TEST(Channel, ALoopThatIsGoneTakesNothingWithIt) {
    channel<int> numbers(4);
    weir::loop_options options;
    options.shutdown_deadline = 1ms;
    auto receive = [&]() -> task<> { (void)co_await numbers.receive(); };
    auto stubborn = [&]() -> task<> {
        for (;;) {
            (void)co_await weir::intercept(receive());
        }
    };
    auto main = [&]() -> task<> {
        weir::spawn(stubborn);
        co_await weir::yield();
        co_await weir::yield();
    };
    EXPECT_THROW(weir::run(main(), std::move(options)), weir::shutdown_timeout);
    // Another loop, which may be where the first one was.
    weir::run([&]() -> task<> { co_await numbers.send(5); }());
    EXPECT_EQ(numbers.receive_blocking(), 5);
}

}  // namespace
