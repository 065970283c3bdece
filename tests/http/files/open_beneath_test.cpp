// SPDX-License-Identifier: MIT
// No path, no link and no race leads out of the folder that is served.

#include "http/files/open_beneath.hpp"

#include "served_folder.hpp"
#include "support/io.hpp"

#include <weir/error.hpp>
#include <weir/http/date.hpp>
#include <weir/http/files.hpp>
#include <weir/http/router.hpp>
#include <weir/io/error.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

namespace {

namespace http = weir::http;
namespace fs = std::filesystem;
using place = weir_test::served_folder;
using weir_test::ask;
using weir_test::fields;
using weir_test::seen;
using weir_test::write_file;

WEIR_IO_TEST(Files, SymbolicLinks) {
    const place here;
    struct row {
        const char* path;
        unsigned none, inside, anywhere;
    };
    static constexpr row table[] = {
        {"/inside.css", 404, 200, 200},     {"/sub/up.html", 404, 200, 200},
        {"/folder/b.css", 404, 200, 200},   {"/absolute.txt", 404, 404, 200},
        {"/outside.txt", 404, 404, 200},    {"/round.txt", 404, 404, 200},
        {"/out/secret.txt", 404, 404, 200}, {"/loop", 404, 404, 404},
        {"/a.txt", 200, 200, 200},
    };
    http::handler none = http::files(here.root, {.follow = http::links::none});
    http::handler inside = http::files(here.root);
    http::handler anywhere = http::files(here.root, {.follow = http::links::anywhere});
    for (const row& each : table) {
        const seen by_none = co_await ask(none, each.path);
        EXPECT_EQ(by_none.code, each.none) << each.path;
        const seen by_inside = co_await ask(inside, each.path);
        EXPECT_EQ(by_inside.code, each.inside) << each.path;
        const seen by_anywhere = co_await ask(anywhere, each.path);
        EXPECT_EQ(by_anywhere.code, each.anywhere) << each.path;
    }
    // The folder itself may be a link, and be changed over.
    fs::create_directory(here.top / "next");
    write_file(here.top / "next" / "a.txt", "next");
    fs::create_symlink("root", here.top / "current");
    http::handler current = http::files(here.top / "current");
    const seen old = co_await ask(current, "/a.txt");
    EXPECT_EQ(old.body, "0123456789");
    fs::create_symlink("next", here.top / "new");
    fs::rename(here.top / "new", here.top / "current");
    const seen fresh = co_await ask(current, "/a.txt");
    EXPECT_EQ(fresh.body, "next");
}

// Thousands of paths, built of everything that ever led out of a folder somewhere. Both ways of
// opening are tried, and must agree.
WEIR_IO_TEST(Files, NoPathLeadsOut) {
    const place here;
    http::handler app = http::files(here.root);
    http::handler strict = http::files(here.root, {.follow = http::links::none});
    static constexpr std::string_view parts[] = {"..",
                                                 ".",
                                                 "%2e%2e",
                                                 "%2E.",
                                                 ".%2e",
                                                 "%252e%252e",
                                                 "..%2f",
                                                 "%2f",
                                                 "%5c..",
                                                 "..\\",
                                                 "%00",
                                                 "secret.txt",
                                                 "outside.txt",
                                                 "absolute.txt",
                                                 "out",
                                                 "round.txt",
                                                 "loop",
                                                 "folder",
                                                 "sub",
                                                 "deep",
                                                 "a.txt",
                                                 "up.html",
                                                 "index.html",
                                                 "inside.css",
                                                 ".git",
                                                 "config",
                                                 ".hidden",
                                                 "root",
                                                 "%c0%ae%c0%ae",
                                                 "..;",
                                                 "...",
                                                 "%u002e",
                                                 "proc",
                                                 "self",
                                                 "",
                                                 " ",
                                                 "%20",
                                                 "~",
                                                 "secret.txt%00",
                                                 "secret%2etxt",
                                                 "b.css",
                                                 "+",
                                                 "..%00",
                                                 "%2e%2e%2f%2e%2e%2f"};
    static constexpr std::string_view slashes[] = {"/",   "/",  "/",   "/",   "//",
                                                   "%2f", "\\", "/./", "/../"};
    std::mt19937 random(99);
    int found = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string target = "/";
        for (unsigned count = 1 + random() % 4; count > 0; --count) {
            target += parts[random() % std::size(parts)];
            if (count > 1 || random() % 4 == 0) {
                target += slashes[random() % std::size(slashes)];
            }
        }
        const seen answer = co_await ask(app, target);
        WEIR_ASSERT_TRUE(answer.body.find("SECRET") == std::string::npos) << target;
        WEIR_ASSERT_TRUE(answer.code == 200 || answer.code == 301 || answer.code == 404) << target;
        found += answer.code == 200 ? 1 : 0;
        const seen without_links = co_await ask(strict, target);
        WEIR_ASSERT_TRUE(without_links.code == answer.code || without_links.code == 404) << target;
        // Without the check of paths: the raw path for the system call, dots included.
        const std::string path = target.substr(target.find_first_not_of('/') == std::string::npos
                                                   ? target.size()
                                                   : target.find_first_not_of('/'));
        if (path.find('\0') == std::string::npos) {
            for (const http::links follow : {http::links::none, http::links::inside}) {
                const auto kernel = http::detail::open_beneath(here.root, path, follow, false);
                const auto steps = http::detail::open_step_by_step(here.root, path, follow);
                std::string text(100, '\0');
                if (kernel.what == http::detail::found::file) {
                    const auto size = ::read(kernel.file.get(), text.data(), text.size());
                    text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
                    WEIR_ASSERT_TRUE(path.find(".git") != std::string::npos ||
                                     path.find(".hidden") != std::string::npos ||
                                     text.find("SECRET") == std::string::npos)
                        << path;
                }
                if (!path.ends_with('/')) {
                    WEIR_ASSERT_EQ(static_cast<int>(kernel.what), static_cast<int>(steps.what))
                        << path << ": " << std::strerror(kernel.error) << ", "
                        << std::strerror(steps.error);
                    WEIR_ASSERT_TRUE(kernel.facts == steps.facts) << path;
                }
            }
        }
    }
    EXPECT_GT(found, 20);
}

// A folder that is exchanged for a link to the outside, over and over, while its files are
// requested.
//
WEIR_IO_TEST(Files, NoRaceLeadsOut) {
    const place here;
    write_file(here.root / "sub" / "secret.txt", "public");
    fs::create_symlink(here.top, here.root / "evil");
    fs::create_symlink("..", here.root / "evil2");
    std::atomic<bool> is_over = false;
    std::thread attacker([&] {
        const std::string sub = here.root / "sub";
        while (!is_over) {
            for (const char* each : {"evil", "evil2"}) {
                const std::string evil = here.root / each;
                ::renameat2(AT_FDCWD, sub.c_str(), AT_FDCWD, evil.c_str(), RENAME_EXCHANGE);
                ::renameat2(AT_FDCWD, sub.c_str(), AT_FDCWD, evil.c_str(), RENAME_EXCHANGE);
            }
        }
    });
    http::handler app = http::files(here.root);
    int sent = 0;
    std::string leaked;
    for (int round = 0; round < 2000; ++round) {
        const seen answer = co_await ask(app, "/sub/secret.txt");
        sent += answer.code == 200 ? 1 : 0;
        leaked += answer.body.find("SECRET") != std::string::npos ? "by openat2 " : "";
        const auto steps =
            http::detail::open_step_by_step(here.root, "sub/secret.txt", http::links::inside);
        if (steps.what == http::detail::found::file) {
            std::array<char, 6> text{};
            const ssize_t size = ::read(steps.file.get(), text.data(), text.size());
            leaked += size == 6 && std::string_view(text.data(), 6) == "SECRET" ? "by steps " : "";
        }
    }
    is_over = true;
    attacker.join();
    EXPECT_EQ(leaked, "");
    EXPECT_GT(sent, 0);
}

}  // namespace
