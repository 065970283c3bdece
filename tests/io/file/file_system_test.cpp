// SPDX-License-Identifier: MIT
// Complete files, directories and their status, by io_uring and by threads.

#include "file_support.hpp"
#include "support/io.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/file_system.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <string>

namespace {

using namespace std::chrono_literals;
using namespace file_tests;
using weir::io::file_kind;

WEIR_IO_TEST(FileSystem, ReadsAndWritesCompleteFiles) {
    const place here;
    for (const std::size_t size : {0u, 1u, 16383u, 16384u, 16385u, 1'000'000u}) {
        std::string text(size, ' ');
        for (std::size_t at = 0; at < size; ++at) {
            text[at] = static_cast<char>(at * 31 + at / 255);
        }
        co_await weir::io::write_file(here / "data", text);
        const std::string got = co_await weir::io::read_file(here / "data", size);
        EXPECT_TRUE(got == text) << size;
        if (size > 0) {
            co_await expect_error(weir::io::read_file(here / "data", size - 1),
                                  "read " + here / "data" + ": it is larger than the limit of " +
                                      std::to_string(size - 1) + " bytes");
        }
    }
    // Files without a size, and without an end.
    const std::string status = co_await weir::io::read_file("/proc/self/status");
    EXPECT_NE(status.find("Name:"), std::string::npos);
    EXPECT_THROW(co_await weir::io::read_file("/dev/zero", 100'000), weir::limit_exceeded);
}

WEIR_IO_TEST(FileSystem, AtomicallyMeansAllOrNothing) {
    const place here;
    const std::string path = here / "config";
    co_await weir::io::write_file(path, "old", {.permissions = 0640});
    ::chmod(path.c_str(), 0604);
    co_await weir::io::write_file(path, "new text", {.atomically = true});
    const std::string text = co_await weir::io::read_file(path);
    EXPECT_EQ(text, "new text");
    const weir::io::file_status about = co_await weir::io::stat(path);
    EXPECT_EQ(about.permissions, 0604u);
    // After a stop at any moment the file is the old one or the new one, and no temporary file is
    // left.
    std::mt19937 random(1);
    std::string large(200'000, 'z');
    for (int round = 0; round < 60; ++round) {
        co_await weir::io::write_file(path, "old");
        auto writing = weir::spawn(weir::io::write_file(path, large, {.atomically = true}));
        co_await weir::sleep(std::chrono::microseconds(random() % 400));
        writing.cancel();
        co_await writing.wait();
        const std::string now = co_await weir::io::read_file(path);
        EXPECT_TRUE(now == "old" || now == large) << round;
        const auto left = co_await weir::io::list_directory(here.root());
        EXPECT_EQ(left.size(), 1u) << round;
    }
    EXPECT_THROW(co_await weir::io::write_file(here / "no/such", "x", {.atomically = true}),
                 weir::io_error);
}

// A link leads to the same file with the option and without it.
WEIR_IO_TEST(FileSystem, AtomicallyThroughALink) {
    const place here;
    co_await weir::io::make_directory(here / "sub");
    co_await weir::io::write_file(here / "sub/file", "old", {.permissions = 0600});
    EXPECT_EQ(::symlink("sub/file", (here / "relative").c_str()), 0);
    EXPECT_EQ(::symlink((here / "relative").c_str(), (here / "absolute").c_str()), 0);
    EXPECT_EQ(::symlink("../made", (here / "sub/dangling").c_str()), 0);
    EXPECT_EQ(::symlink("round", (here / "round").c_str()), 0);
    for (const std::string name : {"relative", "absolute"}) {
        co_await weir::io::write_file(here / name, name, {.atomically = true});
        const std::string text = co_await weir::io::read_file(here / "sub/file");
        EXPECT_EQ(text, name);
        const weir::io::file_status link = co_await weir::io::stat_link(here / name);
        EXPECT_EQ(link.kind, weir::io::file_kind::link);
        const weir::io::file_status about = co_await weir::io::stat(here / "sub/file");
        EXPECT_EQ(about.permissions, 0600u);
    }
    co_await weir::io::write_file(here / "sub/dangling", "first", {.atomically = true});
    const std::string made = co_await weir::io::read_file(here / "made");
    EXPECT_EQ(made, "first");
    try {
        co_await weir::io::write_file(here / "round", "x", {.atomically = true});
        ADD_FAILURE() << "a link to itself was written through";
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.code().value(), ELOOP);
    }
    const auto left = co_await weir::io::list_directory(here.root());
    EXPECT_EQ(left.size(), 5u) << "no temporary file";
    const auto beside = co_await weir::io::list_directory(here / "sub");
    EXPECT_EQ(beside.size(), 2u);
}

WEIR_IO_TEST(FileSystem, DirectoriesAndStatus) {
    const place here;
    co_await weir::io::make_directory(here / "sub");
    co_await weir::io::write_file(here / "file", "12345");
    EXPECT_EQ(::symlink("file", (here / "link").c_str()), 0);
    EXPECT_EQ(::mkfifo((here / "pipe").c_str(), 0600), 0);
    const auto entries = co_await weir::io::list_directory(here.root());
    std::string text;
    for (const auto& each : entries) {
        text += each.name + "=" + std::to_string(static_cast<int>(each.kind)) + " ";
    }
    EXPECT_EQ(text, "file=0 link=2 pipe=4 sub=1 ");
    EXPECT_THROW(co_await weir::io::list_directory(here.root(), 3), weir::limit_exceeded);
    const weir::io::file_status followed = co_await weir::io::stat(here / "link");
    EXPECT_EQ(followed.kind, file_kind::regular);
    EXPECT_EQ(followed.size, 5u);
    EXPECT_LT(std::chrono::abs(std::chrono::system_clock::now() - followed.modified), 1h);
    const weir::io::file_status link = co_await weir::io::stat_link(here / "link");
    EXPECT_EQ(link.kind, file_kind::link);
    const weir::io::file_status null = co_await weir::io::stat("/dev/null");
    EXPECT_EQ(null.kind, file_kind::device);
    co_await weir::io::rename(here / "file", here / "sub/moved");
    const bool is_there = co_await weir::io::exists(here / "sub/moved");
    const bool is_gone = co_await weir::io::exists(here / "file");
    const bool dangles = co_await weir::io::exists(here / "link");
    EXPECT_TRUE(is_there && !is_gone && dangles);
    co_await expect_error(weir::io::remove(here / "sub"),
                          "remove " + here / "sub" + ": Directory not empty");
    co_await weir::io::remove(here / "sub/moved");
    co_await weir::io::remove(here / "sub");
    const bool still = co_await weir::io::exists(here / "sub");
    EXPECT_FALSE(still);
}

WEIR_IO_TEST(FileSystem, TimesBeyondTheClockAreItsEnds) {
    const place here;
    co_await weir::io::write_file(here / "file", "");
    const timespec times[2] = {{.tv_sec = 1'000'000'000, .tv_nsec = 5},
                               {.tv_sec = 1L << 33, .tv_nsec = 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, (here / "file").c_str(), times, 0), 0);
    weir::io::file_status about = co_await weir::io::stat(here / "file");
    EXPECT_EQ(about.accessed.time_since_epoch(), 1'000'000'000s + 5ns);
    const timespec far[2] = {{.tv_sec = 1L << 40, .tv_nsec = 0},
                             {.tv_sec = -(1L << 40), .tv_nsec = 0}};
    ::utimensat(AT_FDCWD, (here / "file").c_str(), far, 0);  // as far as the file system goes
    about = co_await weir::io::stat(here / "file");
    EXPECT_GT(about.accessed, std::chrono::system_clock::now());
    EXPECT_LT(about.modified, std::chrono::system_clock::now());
}

}  // namespace
