// SPDX-License-Identifier: MIT
// The socket that `weir ps` queries.

#include <support/io.hpp>
#include <support/peers/program.hpp>

#include <weir/group.hpp>
#include <weir/io/error.hpp>
#include <weir/io/inspect.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

using namespace std::chrono_literals;
namespace io = weir::io;

namespace {

weir::task<> until_it_is_there(std::string path) {
    while (!std::filesystem::exists(path)) {
        co_await weir::sleep(1ms);
    }
}

weir::task<> sleep_long() {
    co_await weir::sleep(1h);
}

}  // namespace

WEIR_IO_TEST(Inspect, ShowsTasksAndLeavesNothing) {
    const weir_test::temporary_folder folder;
    setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
    const std::string path = io::inspection_path(getpid());
    EXPECT_EQ(path, folder.path().string() + "/weir/" + std::to_string(getpid()) + ".sock");
    WEIR_EXPECT_THROW(io::inspect(getpid()), weir::io_error);

    auto serving = weir::spawn(io::serve_inspection(), {.name = "inspection"});
    auto nap = weir::spawn(sleep_long(), {.name = "a long nap"});
    co_await until_it_is_there(path);
    const std::string seen = co_await io::inspect(getpid());
    EXPECT_NE(seen.find("a long nap"), std::string::npos) << seen;
    struct stat found{};
    EXPECT_EQ(stat((folder.path() / "weir").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0700U);

    nap.cancel();
    serving.cancel();
    co_await nap.wait();
    co_await serving.wait();
    EXPECT_FALSE(std::filesystem::exists(path));

    // A folder that others can open is not used.
    std::filesystem::permissions(folder.path() / "weir", std::filesystem::perms::all);
    WEIR_EXPECT_THROW(io::serve_inspection(), weir::io_error);
    unsetenv("XDG_RUNTIME_DIR");
}
