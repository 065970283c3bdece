// SPDX-License-Identifier: MIT
// Files, through io_uring and through threads.

#include "file_support.hpp"
#include "support/io.hpp"

#include <weir/error.hpp>
#include <weir/gather.hpp>
#include <weir/io/error.hpp>
#include <weir/io/file.hpp>
#include <weir/io/file_system.hpp>
#include <weir/io/pipe.hpp>
#include <weir/io/threads.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace file_tests;
using weir::io::file;

WEIR_IO_TEST(File, ReadsAndWritesAtOffsets) {
    const place here;
    file made = co_await file::open(here / "data", {.write = true, .create = true});
    co_await made.write_at("world", 6);
    co_await made.write_at("hello ", 0);
    std::array<char, 100> got;
    const std::size_t all = co_await made.read_at(got, 0);
    EXPECT_EQ(std::string_view(got.data(), all), "hello world");
    const std::size_t tail = co_await made.read_at(got, 6);
    EXPECT_EQ(std::string_view(got.data(), tail), "world");
    const std::size_t behind = co_await made.read_at(got, 5000);
    EXPECT_EQ(behind, 0u);
    const std::size_t none = co_await made.read_at({}, 0);
    EXPECT_EQ(none, 0u);
    co_await made.write_at({}, 0);
    const std::uint64_t size = co_await made.size();
    EXPECT_EQ(size, 11u);
    co_await made.truncate(3);
    const std::uint64_t cut = co_await made.size();
    EXPECT_EQ(cut, 3u);
    co_await made.sync();
    co_await made.sync_data();
    // A hole beyond 4 GiB: offsets are 64 bits wide.
    co_await made.write_at("far", std::uint64_t{5} << 30);
    const std::uint64_t large = co_await made.size();
    EXPECT_EQ(large, (std::uint64_t{5} << 30) + 3);
    const std::size_t far = co_await made.read_at(got, std::uint64_t{5} << 30);
    EXPECT_EQ(std::string_view(got.data(), far), "far");
}

WEIR_IO_TEST(File, ReadsInSequenceLikeAStream) {
    const place here;
    file out = co_await file::create(here / "text");
    co_await out.write("one ");
    const weir::io::const_bytes parts[] = {"two ", "", "three"};
    co_await out.write(parts);
    EXPECT_EQ(out.position(), 13u);
    co_await out.close_write();
    out.close();
    file in = co_await file::open(here / "text");
    std::string all;
    std::array<char, 5> part;
    for (;;) {
        const std::size_t count = co_await in.read(part);
        if (count == 0) {
            break;
        }
        all.append(part.data(), count);
    }
    EXPECT_EQ(all, "one two three");
    in.seek(8);
    const std::size_t count = co_await in.read(part);
    EXPECT_EQ(std::string_view(part.data(), count), "three");
    file log = co_await file::open(here / "text", {.append = true});
    co_await log.write(" four");
    const std::string whole = co_await weir::io::read_file(here / "text");
    EXPECT_EQ(whole, "one two three four");
}

// Whatever was written before the stop took effect: position() tells.
WEIR_IO_TEST(File, AStoppedWriteLeavesThePositionBehindItsLastByte) {
    const place here;
    const std::string large(40'000'000, 'x');
    for (const bool appends : {false, true}) {
        file made = co_await file::open(
            here / "data",
            {.write = !appends, .append = appends, .create = true, .truncate = true});
        co_await made.write("begin");
        for (int round = 0; round < 3; ++round) {
            const auto writing = weir::spawn(made.write(large));
            co_await weir::sleep(std::chrono::microseconds(200 * round));
            writing.cancel();
            co_await writing.wait();
            const std::uint64_t size = co_await made.size();
            EXPECT_EQ(made.position(), size) << "round " << round << ", appends " << appends;
        }
        co_await made.write("end");
        const std::uint64_t size = co_await made.size();
        EXPECT_EQ(made.position(), size);
    }
}

WEIR_IO_TEST(File, AppendingAndThePosition) {
    const place here;
    co_await weir::io::write_file(here / "log", "0123456789");
    file log = co_await file::open(here / "log", {.append = true});
    EXPECT_EQ(log.position(), 0u) << "reads begin at the beginning";
    co_await log.write("abc");
    EXPECT_EQ(log.position(), 13u) << "behind what was written";
    file other = co_await file::open(here / "log", {.append = true});
    co_await other.write("other");
    co_await log.write("de");
    EXPECT_EQ(log.position(), 20u) << "behind what others have written, too";
    log.seek(2);  // for reads
    std::array<char, 3> part;
    const std::size_t count = co_await log.read(part);
    EXPECT_EQ(std::string_view(part.data(), count), "234");
    EXPECT_EQ(log.position(), 5u);
    log.seek(1);
    co_await log.write("!");
    EXPECT_EQ(log.position(), 21u);
    const std::string whole = co_await weir::io::read_file(here / "log");
    EXPECT_EQ(whole, "0123456789abcotherde!");
}

// The system would write at the end without a word.
WEIR_IO_TEST(File, AnAppendingFileRefusesOffsets) {
    const place here;
    co_await weir::io::write_file(here / "log", "0123456789");
    const file log = co_await file::open(here / "log", {.append = true});
    co_await expect_error(log.write_at("x", 2),
                          "write_at " + (here / "log") +
                              ": the file was opened for appending, where the system writes at "
                              "the end whatever the offset");
    EXPECT_THROW(co_await log.write_at("x", 2), weir::invalid_state);
    const int fd = ::open((here / "log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const file adopted(fd, "adopted");
    EXPECT_THROW(co_await adopted.write_at("x", 2), weir::invalid_state);
    const std::string whole = co_await weir::io::read_file(here / "log");
    EXPECT_EQ(whole, "0123456789");
}

WEIR_IO_TEST(File, ManyTasksAtOnce) {
    const place here;
    const file made = co_await file::open(here / "data", {.write = true, .create = true});
    static constexpr std::size_t count = 100;
    static constexpr std::size_t size = 3000;
    std::vector<weir::handle<void>> all;
    for (std::size_t number = 0; number < count; ++number) {
        all.push_back(weir::spawn([&made, number]() -> weir::task<> {
            const std::string block(size, static_cast<char>('0' + number % 70));
            co_await made.write_at(block, number * size);
            std::string back(size, ' ');
            const std::size_t got = co_await made.read_at(back, number * size);
            EXPECT_EQ(got, size);
            EXPECT_TRUE(back == block);
        }));
    }
    for (const auto& each : all) {
        co_await each;
    }
    const std::uint64_t total = co_await made.size();
    EXPECT_EQ(total, count * size);
}

WEIR_IO_TEST(File, ThePositionHasOneUser) {
    const place here;
    file made = co_await file::open(here / "data", {.write = true, .create = true});
    std::string large(4'000'000, 'x');
    auto writing = weir::spawn(made.write(large));
    co_await weir::yield();
    if (!writing.done()) {
        std::array<char, 10> buffer;
        EXPECT_THROW(co_await made.read(buffer), weir::invalid_state);
    }
    co_await writing;
}

WEIR_IO_TEST(File, ErrorsNamePathAndAttempt) {
    const place here;
    const std::string missing = here / "missing";
    co_await expect_error(file::open(missing), "open " + missing + ": No such file or directory");
    co_await expect_error(weir::io::stat(missing),
                          "stat " + missing + ": No such file or directory");
    co_await expect_error(weir::io::read_file(missing),
                          "open " + missing + ": No such file or directory");
    co_await expect_error(weir::io::remove(missing),
                          "remove " + missing + ": No such file or directory");
    co_await expect_error(
        weir::io::rename(missing, here / "b"),
        "rename " + missing + " to " + here / "b" + ": No such file or directory");
    co_await expect_error(weir::io::list_directory(missing),
                          "list " + missing + ": No such file or directory");
    co_await expect_error(weir::io::make_directory(here.root()),
                          "make_directory " + here.root() + ": File exists");
    co_await expect_error(weir::io::write_file(missing + "/x", "y"),
                          "open " + missing + "/x: No such file or directory");
    const file directory = co_await file::open(here.root());
    std::array<char, 10> buffer;
    co_await expect_error(directory.read_at(buffer, 0), "read " + here.root() + ": Is a directory");
    const file full = co_await file::open("/dev/full", {.read = false, .write = true});
    co_await expect_error(full.write_at("x", 0), "write /dev/full: No space left on device");
    co_await expect_error(full.read_at(buffer, 0), "read /dev/full: Bad file descriptor");
    co_await expect_error(full.truncate(UINT64_MAX), "truncate /dev/full: Invalid argument");
    file closed;
    EXPECT_THROW(co_await closed.read(buffer), weir::io_error);
    EXPECT_EQ(closed.fd(), -1);
}

// Part of a name would be the name of another file.
WEIR_IO_TEST(File, PathsWithAZeroByteAreRefused) {
    const place here;
    co_await weir::io::write_file(here / "secret", "x");
    const std::string name = here / std::string("secret\0.png", 11);
    const std::string said = ": the path '" + here / "secret" + "' goes on after a zero byte";
    co_await expect_error(file::open(name), "open" + said);
    co_await expect_error(weir::io::read_file(name), "open" + said);
    co_await expect_error(weir::io::write_file(name, "y"), "open" + said);
    co_await expect_error(weir::io::write_file(name, "y", {.atomically = true}), "open" + said);
    co_await expect_error(weir::io::stat(name), "stat" + said);
    co_await expect_error(weir::io::exists(name), "stat" + said);
    co_await expect_error(weir::io::remove(name), "remove" + said);
    co_await expect_error(weir::io::rename(name, here / "b"), "rename" + said);
    co_await expect_error(weir::io::rename(here / "b", name), "rename" + said);
    co_await expect_error(weir::io::make_directory(name), "make_directory" + said);
    co_await expect_error(weir::io::list_directory(name), "list" + said);
    const std::string kept = co_await weir::io::read_file(here / "secret");
    EXPECT_EQ(kept, "x");
}

WEIR_IO_TEST(File, OptionsAreChecked) {
    co_await expect_error(file::open("x", {.read = false}),
                          "open_options: one of read, write and append must be true");
    co_await expect_error(file::open("x", {.create = true}),
                          "open_options: create = true makes sense with write or append alone");
    co_await expect_error(file::open("x", {.write = true, .only_new = true}),
                          "open_options: only_new = true makes sense with create alone");
    co_await expect_error(
        file::open("x", {.write = true, .create = true, .permissions = 66666}),
        "open_options: permissions = 66666 are none; they are at most 07777, and written in octal");
    const place here;
    const file made =
        co_await file::open(here / "a", {.write = true, .create = true, .only_new = true});
    co_await expect_error(file::open(here / "a", {.write = true, .create = true, .only_new = true}),
                          "open " + here / "a" + ": File exists");
}

WEIR_IO_TEST(File, ManyLoopsMayUseOne) {
    const place here;
    std::string text(100'000, ' ');
    for (std::size_t index = 0; index < text.size(); ++index) {
        text[index] = static_cast<char>('a' + index % 23);
    }
    co_await weir::io::write_file(here / "file", text);
    const file shared = co_await file::open(here / "file");
    const auto read_here = [&](std::size_t thread) -> weir::task<> {
        std::array<char, 100> buffer;
        for (std::size_t round = 0; round < 200; ++round) {
            const std::size_t at = (thread * 7919 + round * 104'729) % 99'900;
            const std::size_t count = co_await shared.read_at(buffer, at);
            EXPECT_EQ(std::string_view(buffer.data(), count), text.substr(at, 100));
        }
    };
    const auto beside = weir::spawn([&]() -> weir::task<> { co_await read_here(9); });
    co_await weir::on_threads(3, read_here);
    co_await beside;
}

WEIR_IO_TEST(File, CanBeGivenUp) {
    const place here;
    file made = co_await file::create(here / "file");
    const auto writing = weir::spawn(made.write_at("abc", 0));
    co_await weir::yield();
    EXPECT_THROW(made.release(), weir::invalid_state);
    co_await writing;
    const int fd = made.release();
    EXPECT_FALSE(made.is_open());
    EXPECT_EQ(::close(fd), 0);
    EXPECT_THROW(made.release(), weir::io_error);
}

WEIR_IO_TEST(File, ANamedPipeIsOpenedWithoutWaiting) {
    const place here;
    const std::string path = here / "pipe";
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    co_await expect_error(file::open(path, {.read = false, .write = true}),
                          "open " + path + ": No such device or address");
    file reader = co_await file::open(path);
    EXPECT_EQ(::fcntl(reader.fd(), F_GETFL) & O_NONBLOCK, 0);
    file writer = co_await file::open(path, {.read = false, .write = true});
    co_await writer.write("abc");
    std::array<char, 10> buffer;
    const std::size_t count = co_await reader.read(buffer);
    EXPECT_EQ(count, 3u);
    weir::io::pipe_reader stoppable(reader.release());
    EXPECT_THROW(co_await weir::timeout(2ms, stoppable.read(buffer)), weir::timed_out);
    const file direct = co_await file::open(path, {.more_flags = O_NONBLOCK});
    EXPECT_NE(::fcntl(direct.fd(), F_GETFL) & O_NONBLOCK, 0);
}

WEIR_IO_TEST(File, WhoHasALeaseIsWaitedFor) {
    const place here;
    co_await weir::io::write_file(here / "file", "x");
    const auto former =
        std::signal(SIGIO, SIG_IGN);  // the kernel's notice to the owner of the lease
    file owner = co_await file::open(here / "file", {.read = false, .write = true});
    const bool has_lease = ::fcntl(owner.fd(), F_SETLEASE, F_WRLCK) == 0;
    auto opening = weir::spawn(file::open(here / "file"));
    co_await weir::sleep(5ms);
    EXPECT_EQ(opening.done(), !has_lease);
    owner.close();
    const file opened = co_await std::move(opening);
    EXPECT_TRUE(opened.is_open());
    std::signal(SIGIO, former);
}

WEIR_IO_TEST(File, PipesHaveNoPosition) {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    file in(fds[0], "pipe");
    file out(fds[1], "pipe");
    std::array<char, 10> got;
    for (int round = 0; round < 3; ++round) {
        co_await out.write("abc");
        const std::size_t count = co_await in.read(got);
        EXPECT_EQ(std::string_view(got.data(), count), "abc");
    }
    out.close();
    const std::size_t end = co_await in.read(got);
    EXPECT_EQ(end, 0u);
}

// More than two gigabytes in one call: a hole, read into memory that is not touched otherwise.
WEIR_IO_TEST(File, ACallMayBeHuge) {
    const place here;
    const file made = co_await file::open(here / "hole", {.write = true, .create = true});
    constexpr std::uint64_t size = (std::uint64_t{2} << 30) + 5;
    co_await made.truncate(size);
    co_await made.write_at("end", size - 3);
    if (std::getenv("WEIR_HUGE_TESTS") == nullptr) {
        co_return;  // takes a second and all that memory
    }
    const std::unique_ptr<std::byte[]> memory(new std::byte[size]);
    const std::size_t count = co_await made.read_at(weir::io::bytes(memory.get(), size), 0);
    EXPECT_EQ(count, size);
    EXPECT_EQ(static_cast<char>(memory[size - 1]), 'd');
}

weir::task<> use_files() {
    const place here;
    co_await weir::io::write_file(here / "a", "text", {.atomically = true});
    const std::string text = co_await weir::io::read_file(here / "a");
    EXPECT_EQ(text, "text");
    file opened = co_await file::open(here / "a");
    std::array<char, 10> got;
    const std::size_t count = co_await weir::timeout(1s, opened.read(got));
    EXPECT_EQ(count, 4u);
}

TEST(File, WorkInSimulatedTime) {
    const std::ptrdiff_t before = weir_test::open_descriptors();
    weir::run(use_files(), {.driver = weir::driver_kind::simulated});
    weir_test::expect_descriptors(before);
}

WEIR_IO_TEST(File, ReadsIntoSeveralBuffersAtItsPosition) {
    const place here;
    file made = co_await file::open(here / "data", {.write = true, .create = true});
    co_await made.write("headbodyrest");
    made.seek(0);
    std::array<char, 4> head;
    std::array<char, 6> body;
    const std::array<weir::io::bytes, 3> parts{weir::io::bytes(head), weir::io::bytes(),
                                               weir::io::bytes(body)};
    std::size_t count = co_await made.read(parts);
    EXPECT_EQ(count, 10u);
    EXPECT_EQ(std::string_view(head.data(), 4), "head");
    EXPECT_EQ(std::string_view(body.data(), 6), "bodyre");
    EXPECT_EQ(made.position(), 10u);
    count = co_await made.read(parts);
    EXPECT_EQ(count, 2u);
    count = co_await made.read(parts);
    EXPECT_EQ(count, 0u);
    count = co_await made.read(std::span<const weir::io::bytes>());
    EXPECT_EQ(count, 0u);
}

}  // namespace
