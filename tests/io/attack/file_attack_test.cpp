// SPDX-License-Identifier: MIT
// File operations stopped at random: the kernel, or the thread, has let go of the buffer when the
// task goes, and no descriptor is lost.

#include "attack.hpp"

#include <weir/io/file.hpp>
#include <weir/io/file_system.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace attack {
namespace {

using weir::io::file;

weir::task<> read_block(const file& from, std::size_t size, std::size_t offset, bool& is_wrong) {
    lent buffer(size);
    const std::size_t count = co_await from.read_at(buffer.all(), offset);
    is_wrong |= count != size || !is_content(buffer.first(count), offset);
}

weir::task<> write_block(const file& to, std::size_t size, std::size_t offset) {
    lent buffer(size);
    fill(buffer, offset);
    co_await to.write_at(buffer.all(), offset);
}

weir::task<> read_in_sequence(file& from, std::size_t& position, bool& is_wrong) {
    lent buffer(1000);
    const std::size_t count = co_await from.read(buffer.all());
    is_wrong |= !is_content(buffer.first(count), position);
    position += count;
}

WEIR_IO_TEST(FileAttack, StoppedReadsAndWrites) {
    char name[] = "/tmp/weir-attack-XXXXXX";
    file used(::mkstemp(name), name);
    constexpr std::size_t size = 300'000;
    co_await write_block(used, size, 0);
    const std::ptrdiff_t before = weir_test::open_descriptors();
    bool is_wrong = false;
    for (unsigned seed = 0; seed < 400; ++seed) {
        dice random(seed);
        const std::size_t offset = random.below(size);
        const std::size_t length = 1 + random.below(std::min(size - offset, std::size_t{50'000}));
        // The file contains exactly the completed writes: a stopped write changes nothing.
        if (random.one_in(2)) {
            co_await disturb(weir::spawn(read_block(used, length, offset, is_wrong)), random);
        } else {
            co_await disturb(weir::spawn(write_block(used, length, offset)), random);
        }
        if (random.one_in(4)) {
            co_await disturb(weir::spawn(file::open(name)), random);
        }
        if (random.one_in(8)) {
            co_await disturb(weir::spawn(weir::io::read_file(name)), random);
        }
        if (random.one_in(8)) {
            co_await disturb(weir::spawn(weir::io::list_directory("/proc/self/fd")), random);
        }
    }
    EXPECT_FALSE(is_wrong);
    co_await expect_no_damage(dice(0));
    EXPECT_EQ(weir_test::open_descriptors(), before);
    // Bytes in sequence: a stopped read has not moved the position, or has delivered.
    std::size_t position = 0;
    dice random(7);
    while (position < size) {
        co_await disturb(weir::spawn(read_in_sequence(used, position, is_wrong)), random);
        EXPECT_EQ(used.position(), position);
    }
    EXPECT_FALSE(is_wrong);
    // Closed while others use it: the number stays theirs until they have ended.
    for (unsigned seed = 0; seed < 50; ++seed) {
        file closed = co_await file::open(name);
        auto reading = weir::spawn(read_block(closed, 20'000, 0, is_wrong));
        dice pauses(seed);
        co_await pause(pauses);
        if (!pauses.one_in(3)) {
            co_await weir::yield();
            const file taker = std::move(closed);  // and closes it
        }
        co_await reading.wait();
    }
    ::unlink(name);
    co_await expect_no_damage(dice(0));
}

}  // namespace
}  // namespace attack
