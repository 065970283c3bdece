// SPDX-License-Identifier: MIT
// Faults at real files: each read, write and sync fails, or transfers a single byte, which is no
// error.

#include "file_support.hpp"

#include <weir/cancel.hpp>
#include <weir/io/file.hpp>
#include <weir/io/file_system.hpp>
#include <weir/io/uring.hpp>
#include <weir/outcome.hpp>
#include <weir/testing/faults.hpp>

#include <set>

namespace {

using namespace file_tests;
using weir::io_point;
using weir::task;

task<> write_and_read(const std::string& path, std::string& got) {
    weir::io::file to = co_await weir::io::file::create(path);
    co_await to.write("hello ");
    co_await to.write("file");
    co_await to.sync();
    got = co_await weir::io::read_file(path, 100);
}

void expect_faults_are_seen(weir::driver_kind driver) {
    const place here;
    std::set<io_point> failed;
    std::set<io_point> shortened;
    weir::testing::fault_options options;
    options.driver = driver;
    options.most_time = std::chrono::seconds(60);
    const auto found = weir::testing::explore_faults(
        [&]() -> task<> {
            std::string got;
            const auto ended = co_await weir::settle(write_and_read(here / "text", got));
            const auto fault = weir::testing::injected_fault();
            if (fault.has_value() && fault->kind == weir::testing::fault_kind::error) {
                EXPECT_FALSE(ended.has_value()) << fault->text() << " was not noticed";
                failed.insert(fault->at);
                co_return;
            }
            EXPECT_EQ(got, "hello file");
            if (fault.has_value()) {
                shortened.insert(fault->at);
            }
        },
        options);
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_EQ(failed, (std::set<io_point>{io_point::read, io_point::write}));
    EXPECT_EQ(shortened, failed);
}

TEST(FileFaults, AreSeenOnEpoll) {
    expect_faults_are_seen(weir::driver_kind::epoll);
}

TEST(FileFaults, AreSeenOnUring) {
    if (weir::io::make_uring_driver() == nullptr) {
        GTEST_SKIP() << "there is no io_uring here";
    }
    expect_faults_are_seen(weir::driver_kind::uring);
}

}  // namespace
