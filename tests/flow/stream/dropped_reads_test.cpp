// SPDX-License-Identifier: MIT
// A dropped stream whose calls wait for the kernel: on epoll and on io_uring, which has to let go
// of their buffers first, the calls end before the locals of the coroutine that drops the stream.

#if defined(WEIR_TEST_WITH_IO)

#include <weir/flow/map_concurrent.hpp>
#include <weir/io/io.hpp>
#include <weir/io/uring.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>

namespace {

struct locals {
    bool exist = true;
    int begun = 0;
    int ended = 0;
    int ended_too_late = 0;
};
struct call_note {
    locals& used;
    explicit call_note(locals& of) : used(of) { ++used.begun; }
    ~call_note() {
        ++used.ended;
        used.ended_too_late += used.exist ? 0 : 1;
    }
};
struct end_of_locals {
    locals& ended;
    ~end_of_locals() { ended.exist = false; }
};

weir::task<> read_some(weir::io::socket& silent, locals& used) {
    const end_of_locals at_end{used};
    auto read = [&](int number) -> weir::task<int> {
        const call_note note(used);
        std::array<char, 64> buffer;
        if (number > 0) {
            co_await silent.read(buffer);
        }
        co_return number;
    };
    auto results = weir::map_concurrent(weir::range(2), 2, read);
    co_await results.next();
    co_await weir::sleep(std::chrono::milliseconds(1));  // the read is with the kernel now
    throw std::runtime_error("enough");
}

weir::task<> drop_reads(locals& used) {
    auto door = weir::io::listen(weir::io::address::loopback(0));
    auto client = co_await weir::io::connect(door.local_address());
    auto server = co_await door.accept();
    const auto ended = co_await weir::settle(read_some(client, used));
    EXPECT_TRUE(ended.has_error());
    EXPECT_EQ(used.begun, 2);
    EXPECT_EQ(used.ended, 2);
    EXPECT_EQ(used.ended_too_late, 0);
}

TEST(DroppedReads, EndBeforeTheLocalsOfTheConsumer) {
    for (const weir::driver_kind kind : {weir::driver_kind::epoll, weir::driver_kind::uring}) {
        if (kind == weir::driver_kind::uring && weir::io::make_uring_driver() == nullptr) {
            continue;
        }
        locals used;
        weir::loop_options options;
        options.driver = kind;
        weir::run(drop_reads(used), std::move(options));
        EXPECT_EQ(used.ended_too_late, 0) << static_cast<int>(kind);
    }
}

}  // namespace

#endif
