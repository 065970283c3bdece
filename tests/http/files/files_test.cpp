// SPDX-License-Identifier: MIT
// Files: which files of a folder are sent, which never are, and the effect of changes during a
// transfer.

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

std::string random_bytes(std::mt19937& random, std::size_t count) {
    std::string bytes(count, '\0');
    for (char& each : bytes) {
        each = static_cast<char>(random());
    }
    return bytes;
}

WEIR_IO_TEST(Files, AreSent) {
    const place here;
    http::handler app = http::files(here.root);
    const seen text = co_await ask(app, "/a.txt");
    EXPECT_EQ(text.code, 200u);
    EXPECT_EQ(text.body, "0123456789");
    EXPECT_FALSE(text.was_streamed);
    EXPECT_EQ(text["Content-Type"], "text/plain; charset=utf-8");
    EXPECT_EQ(text["Accept-Ranges"], "bytes");
    EXPECT_EQ(text["Cache-Control"], "no-cache");
    EXPECT_EQ(text["X-Content-Type-Options"], "nosniff");
    EXPECT_FALSE(text.headers.contains("Vary"));
    EXPECT_TRUE(http::parse_date(text["Last-Modified"]).has_value());
    EXPECT_TRUE(text["ETag"].starts_with("W/\"")) << "it may change within the same moment";
    const seen start = co_await ask(app, "/");
    EXPECT_EQ(start.body, "<p>start");
    const seen sub = co_await ask(app, "/sub/");
    EXPECT_EQ(sub.body, "<p>sub");
    const seen redirect = co_await ask(app, "/sub?x=1");
    EXPECT_EQ(redirect.code, 301u);
    EXPECT_EQ(redirect["Location"], "./sub/?x=1");
    const seen empty = co_await ask(app, "/empty.txt", fields("Range", "bytes=0-"));
    EXPECT_EQ(empty.code, 200u);
    EXPECT_EQ(empty.announced, 0u);
    const seen known = co_await ask(app, "/.well-known/x");
    EXPECT_EQ(known.body, "known");
    for (const char* each :
         {"/nothing", "/a.txt/", "/a.txt/x", "/sub/deep/", "/.git/config", "/.hidden", "/%2ehidden",
          "/sub/../a.txt", "/a%00.txt", "/a.txt%00", "/%", "//a.txt", "/sub//b.css"}) {
        const seen missing = co_await ask(app, each);
        EXPECT_EQ(missing.code, 404u) << each;
    }
    const std::string long_name = "/" + std::string(300, 'a');
    const seen too_long = co_await ask(app, long_name);
    EXPECT_EQ(too_long.code, 404u);
    const seen head = co_await ask(app, "/a.txt", {}, http::method::head);
    EXPECT_EQ(head.code, 200u);
    EXPECT_EQ(head.announced, 10u);
    EXPECT_EQ(head["ETag"], text["ETag"]);
    const seen post = co_await ask(app, "/a.txt", {}, http::method::post);
    EXPECT_EQ(post.code, 405u);
    EXPECT_EQ(post["Allow"], "GET, HEAD");

    http::handler all = http::files(here.root, {.index = "", .hidden = true, .cache_control = ""});
    const seen hidden = co_await ask(all, "/.hidden");
    EXPECT_EQ(hidden.body, "SECRET");
    EXPECT_FALSE(hidden.headers.contains("Cache-Control"));
    const seen folder = co_await ask(all, "/sub");
    EXPECT_EQ(folder.code, 404u);

    http::router routes;
    routes.get("/u/{who}/static/{path...}", http::files(here.root));
    http::handler routed = std::move(routes);
    const seen below = co_await ask(routed, "/u/me/static/sub/b.css");
    EXPECT_EQ(below.body, "p {}");
    const seen top = co_await ask(routed, "/u/me/static/");
    EXPECT_EQ(top.body, "<p>start");
    const seen escaped = co_await ask(routed, "/u/me/static/sub%2fb.css");
    EXPECT_EQ(escaped.code, 404u);
}

WEIR_IO_TEST(Files, ConditionsAndStrongTags) {
    // These have lain there for longer than a second.
    http::handler app = http::files(WEIR_TEST_SITE);
    const seen first = co_await ask(app, "/docs/plain.css");
    const std::string etag(first["ETag"]);
    EXPECT_TRUE(etag.starts_with('"')) << etag;
    EXPECT_EQ(etag.size(), 18u);
    const seen again = co_await ask(app, "/docs/plain.css");
    EXPECT_EQ(again["ETag"], etag);
    const seen other = co_await ask(app, "/index.html");
    EXPECT_NE(other["ETag"], etag);
    const std::string changed(first["Last-Modified"]);

    const seen same = co_await ask(app, "/docs/plain.css", fields("If-None-Match", etag));
    EXPECT_EQ(same.code, 304u);
    EXPECT_EQ(same["ETag"], etag);
    EXPECT_FALSE(same.headers.contains("Last-Modified"));
    const seen dated = co_await ask(app, "/docs/plain.css", fields("If-Modified-Since", changed));
    EXPECT_EQ(dated.code, 304u);
    const seen strict = co_await ask(app, "/docs/plain.css", fields("If-Match", etag));
    EXPECT_EQ(strict.code, 200u);
    const seen failed = co_await ask(app, "/docs/plain.css", fields("If-Match", "\"x\""));
    EXPECT_EQ(failed.code, 412u);
    const seen unmodified = co_await ask(
        app, "/docs/plain.css", fields("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"));
    EXPECT_EQ(unmodified.code, 412u);
    const seen part =
        co_await ask(app, "/docs/plain.css", fields("Range", "bytes=4-8", "If-Range", etag));
    EXPECT_EQ(part.code, 206u);
    EXPECT_EQ(part.body, "color");
    const seen by_date =
        co_await ask(app, "/docs/plain.css", fields("Range", "bytes=4-8", "If-Range", changed));
    EXPECT_EQ(by_date.code, 206u);
    const seen old =
        co_await ask(app, "/docs/plain.css", fields("Range", "bytes=4-8", "If-Range", "\"x\""));
    EXPECT_EQ(old.code, 200u);

    // Another content of the same size and date has another tag: the inode's date cannot be set
    // back.
    const place here;
    http::handler young = http::files(here.root);
    const seen before = co_await ask(young, "/a.txt");
    const auto date = fs::last_write_time(here.root / "a.txt");
    weir_test::let_it_age(here.root / "a.txt");
    write_file(here.root / "a.txt", "abcdefghij");
    fs::last_write_time(here.root / "a.txt", date);
    const seen after = co_await ask(young, "/a.txt", fields("If-None-Match", before["ETag"]));
    EXPECT_EQ(after.code, 200u);
    EXPECT_EQ(after["Last-Modified"], before["Last-Modified"]);
    // A file from the future was changed now.
    fs::last_write_time(here.root / "a.txt", date + std::chrono::hours(1000));
    const seen ahead = co_await ask(young, "/a.txt");
    const auto modified = http::parse_date(ahead["Last-Modified"]);
    WEIR_ASSERT_TRUE(modified.has_value());
    EXPECT_LE(*modified, std::chrono::system_clock::now());
}

WEIR_IO_TEST(Files, LargeOnesInPiecesAndRangesOfThem) {
    const place here;
    std::mt19937 random(3);
    const std::string content = random_bytes(random, 300'001);
    write_file(here.root / "large.bin", content);
    http::handler app = http::files(here.root, {.piece_size = 10'000});
    // Out of the system's memory, so that it has to be read from the disk.
    const int fd = ::open((here.root / "large.bin").c_str(), O_RDONLY);
    ::fsync(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
    const seen whole = co_await ask(app, "/large.bin");
    EXPECT_TRUE(whole.was_streamed);
    EXPECT_TRUE(whole.body == content);
    EXPECT_EQ(whole["Content-Type"], "application/octet-stream");
    const seen head = co_await ask(app, "/large.bin", {}, http::method::head);
    EXPECT_EQ(head.announced, content.size());
    for (int round = 0; round < 40; ++round) {
        const std::size_t first = random() % content.size();
        const std::size_t size = 1 + random() % (round % 2 == 0 ? 100 : 100'000);
        std::string range = "bytes=";
        range += std::to_string(first) + "-" + std::to_string(first + size - 1);
        const seen part = co_await ask(app, "/large.bin", fields("Range", range));
        WEIR_ASSERT_EQ(part.code, 206u);
        WEIR_ASSERT_TRUE(part.body == content.substr(first, size)) << range;
    }
    for (const char* several : {"bytes=0-9,-5", "bytes=0-99999, 200000-"}) {
        const seen parts = co_await ask(app, "/large.bin", fields("Range", several));
        EXPECT_EQ(parts.code, 206u);
        EXPECT_EQ(parts.was_streamed, several[8] == '9' && several[9] == '9');
        EXPECT_TRUE(parts.body.find(content.substr(0, 10)) != std::string::npos);
        EXPECT_TRUE(parts.body.find(content.substr(content.size() - 5)) != std::string::npos);
    }
    const seen behind = co_await ask(app, "/large.bin", fields("Range", "bytes=300001-"));
    EXPECT_EQ(behind.code, 416u);
    EXPECT_EQ(behind["Content-Range"], "bytes */300001");
}

// Does something to the file when a part of it has been sent.
class meddler final : public http::body_writer {
public:
    explicit meddler(std::function<void()> what) : what_(std::move(what)) {}
    weir::task<> write(weir::io::const_bytes data) override {
        sent += data.size();
        if (what_ && !data.empty()) {
            std::exchange(what_, nullptr)();
        }
        co_await weir::yield();
    }
    weir::task<> flush() override { co_return; }

    std::size_t sent = 0;

private:
    std::function<void()> what_;
};

WEIR_IO_TEST(Files, ThatChangeWhileTheyAreSent) {
    const place here;
    const fs::path name = here.root / "large.bin";
    http::handler app = http::files(here.root, {.piece_size = 4096});
    const std::string content(40'960, 'x');
    const auto send_while = [&](std::function<void()> what) -> weir::task<std::string> {
        fs::remove(name);
        write_file(name, content);
        weir_test::let_it_age(name);
        http::request incoming(http::method::get, "/large.bin");
        http::response answer = co_await app(incoming);
        meddler out(std::move(what));
        try {
            co_await answer.body().as_stream()->write(out);
        } catch (const http::error& error) {
            EXPECT_LT(out.sent, content.size());
            std::string text = error.what();
            text.erase(0, here.root.string().size());
            co_return text;
        }
        co_return std::to_string(out.sent);
    };
    const auto shrink = [&] { fs::resize_file(name, 20'000); };
    const std::string shrunk = co_await send_while(shrink);
    EXPECT_EQ(shrunk, "/large.bin was truncated while it was sent");
    const auto rewrite = [&] { write_file(name, std::string(40'960, 'y')); };
    const std::string rewritten = co_await send_while(rewrite);
    EXPECT_EQ(rewritten, "/large.bin was changed while it was sent");
    const auto replace = [&] {
        write_file(here.root / "new", "z");
        fs::rename(here.root / "new", name);  // open descriptors keep the old file
    };
    const std::string replaced = co_await send_while(replace);
    EXPECT_EQ(replaced, "40960");
    const auto append = [&] { std::ofstream(name, std::ios::app) << "more"; };
    const std::string appended = co_await send_while(append);
    EXPECT_EQ(appended, "40960");
}

WEIR_IO_TEST(Files, OnlyRegularOnes) {
    const place here;
    const std::string pipe = here.root / "pipe";
    WEIR_ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    fs::create_symlink("/dev/zero", here.root / "zero");
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, (here.root / "socket").c_str(), sizeof name.sun_path - 1);
    EXPECT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    http::handler app = http::files(here.root, {.follow = http::links::anywhere});
    for (const char* each : {"/pipe", "/zero", "/socket", "/sub/deep/"}) {
        const seen refused = co_await ask(app, each);
        EXPECT_EQ(refused.code, 404u) << each;
    }
    ::close(listener);
    // The server has not opened the pipe, not even for a moment: a writer would have succeeded.
    EXPECT_EQ(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK), -1);
    EXPECT_EQ(errno, ENXIO);
    if (::geteuid() != 0) {
        fs::permissions(here.root / "a.txt", fs::perms::none);
        const seen forbidden = co_await ask(app, "/a.txt");
        EXPECT_EQ(forbidden.code, 403u);
    }
}

// The second time it comes from memory, and only as long as the file is the same.
WEIR_IO_TEST(Files, AreKeptInMemory) {
    http::handler site = http::files(WEIR_TEST_SITE);
    http::request incoming(http::method::get, "/docs/plain.css");
    const http::response first = co_await site(incoming);
    const http::response second = co_await site(incoming);
    EXPECT_EQ(second.body().text(), "p { color: green }\n");
    EXPECT_EQ(second.body().text().data(), first.body().text().data());
    EXPECT_EQ(second.header("ETag"), first.header("ETag"));
    const seen part = co_await ask(site, "/docs/plain.css", fields("Range", "bytes=4-8"));
    EXPECT_EQ(part.body, "color");
    const seen parts = co_await ask(site, "/docs/plain.css", fields("Range", "bytes=0-0,4-8"));
    EXPECT_NE(parts.body.find("\r\n\r\ncolor\r\n--"), std::string::npos);
    const seen head = co_await ask(site, "/docs/plain.css", {}, http::method::head);
    EXPECT_EQ(head.announced, 19u);
    const seen same =
        co_await ask(site, "/docs/plain.css", fields("If-None-Match", first.header("ETag")));
    EXPECT_EQ(same.code, 304u);

    const place here;
    http::handler app = http::files(here.root);
    http::request text(http::method::get, "/a.txt");
    co_await weir::sleep(std::chrono::milliseconds(1100));  // until it is no longer young
    const http::response old = co_await app(text);
    const http::response kept = co_await app(text);
    EXPECT_EQ(kept.body().text().data(), old.body().text().data());
    write_file(here.root / "a.txt", "abcdefghij");  // of the same size
    const http::response changed = co_await app(text);
    EXPECT_EQ(changed.body().text(), "abcdefghij");
    EXPECT_EQ(kept.body().text(), "0123456789");  // still what it was
    const seen before = co_await ask(app, "/sub/b.css");
    EXPECT_EQ(before.body, "p {}");
    fs::remove(here.root / "sub" / "b.css");
    const seen removed = co_await ask(app, "/sub/b.css");
    EXPECT_EQ(removed.code, 404u);
    fs::rename(here.root / "empty.txt", here.root / "index.html");
    const seen replaced = co_await ask(app, "/");
    EXPECT_EQ(replaced.body, "");
}

WEIR_IO_TEST(Files, CompressedBeforehand) {
    const place here;
    const fs::path root = here.root;
    for (const char* each : {"sub/b.css.gz", "sub/b.css.br", "a.txt.gz", "index.html.br"}) {
        write_file(root / each, std::string("packed ") + each);
    }
    // Out of date: older than what it was made of.
    fs::last_write_time(root / "index.html.br",
                        fs::last_write_time(root / "index.html") - std::chrono::seconds(5));
    http::handler app = http::files(root, {.precompressed = true});
    const seen best = co_await ask(app, "/sub/b.css", fields("Accept-Encoding", "gzip, br"));
    EXPECT_EQ(best.body, "packed sub/b.css.br");
    EXPECT_EQ(best["Content-Encoding"], "br");
    EXPECT_EQ(best["Content-Type"], "text/css; charset=utf-8");
    EXPECT_EQ(best["Vary"], "Accept-Encoding");
    const seen other = co_await ask(app, "/sub/b.css", fields("Accept-Encoding", "gzip"));
    EXPECT_EQ(other.body, "packed sub/b.css.gz");
    EXPECT_NE(other["ETag"], best["ETag"]);
    const seen next = co_await ask(app, "/a.txt", fields("Accept-Encoding", "br, gzip;q=0.5"));
    EXPECT_EQ(next["Content-Encoding"], "gzip");
    const seen plain = co_await ask(app, "/sub/b.css");
    EXPECT_EQ(plain.body, "p {}");
    EXPECT_EQ(plain["Vary"], "Accept-Encoding");
    EXPECT_FALSE(plain.headers.contains("Content-Encoding"));
    const seen stale = co_await ask(app, "/", fields("Accept-Encoding", "br"));
    EXPECT_EQ(stale.body, "<p>start");
    const seen same = co_await ask(app, "/sub/b.css",
                                   fields("Accept-Encoding", "br", "If-None-Match", best["ETag"]));
    EXPECT_EQ(same.code, 304u);
    EXPECT_EQ(same["Vary"], "Accept-Encoding");
    const seen part =
        co_await ask(app, "/sub/b.css", fields("Accept-Encoding", "br", "Range", "bytes=0-5"));
    EXPECT_EQ(part.body, "packed");
    EXPECT_EQ(part["Content-Encoding"], "br");
}

WEIR_IO_TEST(Files, CanBeStoppedAtAnyTime) {
    const place here;
    write_file(here.root / "large.bin", std::string(100'000, 'x'));
    http::handler app = http::files(here.root, {.precompressed = true, .piece_size = 8192});
    for (int steps = 0; steps < 40; ++steps) {
        for (const char* target : {"/large.bin", "/a.txt", "/never-seen-before"}) {
            std::string path = target;
            path += steps % 3 == 0 && path.starts_with("/n") ? std::to_string(steps) : "";
            const auto asking = weir::spawn(
                ask, std::ref(app), path, fields("Accept-Encoding", "br, gzip"), http::method::get);
            for (int i = 0; i < steps; ++i) {
                co_await weir::yield();
            }
            asking.cancel();
            co_await asking.wait();
        }
    }
}

WEIR_IO_TEST(Files, OutOfDescriptors) {
    const place here;
    http::handler app = http::files(here.root);
    const seen before = co_await ask(app, "/a.txt");
    EXPECT_EQ(before.code, 200u);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const int next = ::dup(0);
    ::close(next);
    rlimit none = limit;
    none.rlim_cur = static_cast<rlim_t>(next);
    ::setrlimit(RLIMIT_NOFILE, &none);
    const seen refused = co_await ask(app, "/a.txt");
    ::setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(refused.code, 503u);
    EXPECT_EQ(refused["Retry-After"], "1");
}

TEST(FilesOptions, AreChecked) {
    const place here;
    const auto text_of = [&](std::string folder, const http::files_options& options) {
        try {
            http::files(std::move(folder), options);
        } catch (const std::exception& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    const std::string root = here.root;
    EXPECT_EQ(text_of(root + "/none", {}), "files of " + root + "/none: No such file or directory");
    EXPECT_EQ(text_of(root + "/a.txt", {}), "files of " + root + "/a.txt: Not a directory");
    EXPECT_EQ(text_of("", {}), "files: the name of the folder is empty or contains a zero byte");
    EXPECT_EQ(text_of(root, {.index = "a/b"}),
              "files_options: index = 'a/b' is not the name of a file");
    EXPECT_EQ(text_of(root, {.piece_size = 5}),
              "files_options: piece_size = 5 must be from 1 KiB to 64 MiB");
    const http::file_type bad[] = {{"x", "a\nb"}};
    EXPECT_EQ(text_of(root, {.types = bad}), "files_options: the type of 'x' cannot be a header");
    EXPECT_EQ(text_of(root, {.cache_control = " "}).substr(0, 28), "files_options: cache_control");
}

WEIR_IO_TEST(Files, TypesOfOnesOwn) {
    const place here;
    write_file(here.root / "x.OWN", "x");
    static constexpr http::file_type types[] = {{"own", "application/x-own"},
                                                {"txt", "text/x-own"}};
    http::handler app = http::files(here.root, {.types = types});
    const seen own = co_await ask(app, "/x.OWN");
    EXPECT_EQ(own["Content-Type"], "application/x-own");
    const seen text = co_await ask(app, "/a.txt");
    EXPECT_EQ(text["Content-Type"], "text/x-own");
    const seen page = co_await ask(app, "/");
    EXPECT_EQ(page["Content-Type"], "text/html; charset=utf-8");
}

}  // namespace
