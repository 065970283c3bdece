// SPDX-License-Identifier: MIT
// Files, assets and compression as real clients see them: curl, Node and Chromium, over a server.

#include "embedded_site.hpp"
#include "serving.hpp"
#include "support/io.hpp"
#include "support/peers.hpp"

#include <weir/cancel.hpp>
#include <weir/http/assets.hpp>
#include <weir/http/compression.hpp>
#include <weir/http/files.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/io.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>
#include <weir/testing/testing.hpp>

#include <random>

namespace {

using namespace std::chrono_literals;
using weir_test::curl;
namespace http = weir::http;
namespace fs = std::filesystem;

// A server for as long as the body of the test takes.
class site {
public:
    explicit site(http::handler app) : server(std::move(app)) {
        weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
        port = listener.local_address().port();
        running = weir::spawn(server.serve(std::move(listener)));
    }
    std::string url(std::string_view target) const {
        return "http://127.0.0.1:" + std::to_string(port) + std::string(target);
    }
    weir::task<> end() {
        running.cancel();
        (void)co_await weir::settle(running.wait());
    }

    http::server server;
    std::uint16_t port = 0;
    weir::handle<void> running;
};

std::string some_bytes(std::size_t size) {
    std::mt19937 random(1);
    std::string bytes(size, '\0');
    for (char& each : bytes) {
        each = static_cast<char>(random());
    }
    return bytes;
}
std::string some_text(std::size_t lines) {
    std::string text;
    for (std::size_t i = 0; i < lines; ++i) {
        text += "line " + std::to_string(i * 7919 % 1000) + " of a text\n";
    }
    return text;
}

WEIR_IO_TEST(Clients, CurlAndFiles) {
    const weir_test::temporary_folder folder;
    const std::string content = some_bytes(1'000'003);
    folder.write("site/large.bin", content);
    folder.write("site/sub/index.html", "<p>sub");
    http::router routes;
    routes.get("/static/{path...}", http::files(folder / "site"));
    site own(std::move(routes));
    const std::string large = own.url("/static/large.bin");

    const auto whole = co_await curl({large});
    EXPECT_TRUE(whole.out == content);
    const auto head = co_await curl({"-I", large});
    EXPECT_NE(head.out.find("Content-Length: 1000003\r\n"), std::string::npos) << head.out;
    EXPECT_NE(head.out.find("Accept-Ranges: bytes\r\n"), std::string::npos);
    const auto part = co_await curl({"-r", "100000-500000", large});
    EXPECT_TRUE(part.out == content.substr(100'000, 400'001));
    const auto tail = co_await curl({"-r", "-5", large});
    EXPECT_TRUE(tail.out == content.substr(content.size() - 5));
    const auto several = co_await curl({"-i", "-r", "0-99999,200000-400000", large});
    EXPECT_NE(several.out.find("206 Partial Content"), std::string::npos);
    EXPECT_NE(several.out.find(content.substr(0, 100'000)), std::string::npos);
    EXPECT_NE(several.out.find(content.substr(200'000, 200'001)), std::string::npos);
    const auto behind = co_await curl({"-i", "-r", "2000000-", large});
    EXPECT_NE(behind.out.find("416 Range Not Satisfiable"), std::string::npos);
    EXPECT_NE(behind.out.find("Content-Range: bytes */1000003"), std::string::npos);

    // Continues at the interruption.
    const std::string half = folder.write("half", content.substr(0, 600'000));
    const auto resumed = co_await curl({"-C", "-", "-o", half, large});
    EXPECT_EQ(resumed.status.code(), 0) << resumed.err;
    EXPECT_TRUE(folder.read("half") == content);

    const std::string tag = folder / "tag";
    const std::string copy = folder / "copy";
    const auto saved = co_await curl({"--etag-save", tag, "-o", copy, large});
    EXPECT_EQ(saved.status.code(), 0);
    const auto same = co_await curl({"-i", "--etag-compare", tag, large});
    EXPECT_NE(same.out.find("304 Not Modified"), std::string::npos) << same.out.substr(0, 500);
    const auto dated = co_await curl({"-i", "-z", copy, large});
    EXPECT_NE(dated.out.find("304 Not Modified"), std::string::npos) << dated.out.substr(0, 500);
    const auto followed = co_await curl({"-L", own.url("/static/sub?a")});
    EXPECT_EQ(followed.out, "<p>sub");
    const auto climbing = co_await curl({"--path-as-is", "-i", own.url("/static/../half")});
    EXPECT_NE(climbing.out.find(" 404 "), std::string::npos);
    const auto hidden = co_await curl({"-i", own.url("/static/%2e%2e%2fhalf")});
    EXPECT_NE(hidden.out.find(" 404 "), std::string::npos);
    co_await own.end();
}

// The client sees that the answer is not whole, and nothing is ended as if it were.
WEIR_IO_TEST(Clients, AFileThatIsCutBreaksTheConnectionOff) {
    const weir_test::temporary_folder folder;
    const fs::path file = folder.write("site/large.bin", "x");
    fs::resize_file(file, 100 << 20);
    site own(http::files(folder / "site"));
    const std::string copy = folder / "copy";
    const auto fetching = weir::spawn([&]() -> weir::task<weir::command_result> {
        co_return co_await curl({"--limit-rate", "20M", "-o", copy, own.url("/large.bin")});
    });
    for (;;) {
        std::error_code missing;
        const auto size = fs::file_size(copy, missing);
        if (!missing && size > 0) {
            break;
        }
        co_await weir::sleep(2ms);
    }
    fs::resize_file(file, 1 << 20);
    const weir::command_result result = co_await fetching;
    EXPECT_EQ(result.status.code(), 18) << result.err;  // 'a file was only partially transferred'
    EXPECT_LT(fs::file_size(copy), std::uintmax_t{100} << 20);
    EXPECT_EQ(own.server.stats().broken_off, 1u);
    co_await own.end();
}

WEIR_IO_TEST(Clients, CurlAndCompression) {
    const weir_test::temporary_folder folder;
    const std::string small = some_text(100);
    const std::string large = some_text(40'000);
    folder.write("site/small.txt", small);
    folder.write("site/large.txt", large);
    http::router routes;
    routes.use(http::compression({.requests = http::encoded_requests::decode}));
    routes.get("/files/{path...}", http::files(folder / "site"));
    routes.post("/echo", [](http::request& incoming) -> weir::task<http::response> {
        std::string text = co_await incoming.text();
        co_return http::response::text(std::move(text));
    });
    site own(std::move(routes));
    for (const char* coding : {"gzip", "br"}) {
        std::string header = "Accept-Encoding: ";
        header += coding;
        for (const std::string* text : {&small, &large}) {
            const std::string url =
                own.url(text == &small ? "/files/small.txt" : "/files/large.txt");
            const auto decoded = co_await curl({"--compressed", "-H", header, url});
            EXPECT_TRUE(decoded.out == *text) << coding << decoded.err;
            const auto packed = co_await curl({"-H", header, url});
            EXPECT_LT(packed.out.size(), text->size() / 2);
            const auto head = co_await curl({"-I", "-H", header, url});
            EXPECT_NE(head.out.find("Content-Encoding: " + std::string(coding)), std::string::npos);
            EXPECT_NE(head.out.find("ETag: W/"), std::string::npos);
            const auto part = co_await curl({"-r", "10-19", "-H", header, url});
            EXPECT_EQ(part.out, text->substr(10, 10));
        }
    }
    // A compressed request, and another one on the same connection.
    const std::string packed = folder / "small.gz";
    const std::string command = "gzip -c " + (folder / "site/small.txt").string() + " > " + packed;
    std::vector<std::string> words = {"/bin/sh", "-c", command};
    const auto zipped = co_await weir_test::run_program(std::move(words));
    EXPECT_EQ(zipped.status.code(), 0);
    const std::string echo = own.url("/echo");
    const auto posted = co_await curl({"-H",
                                       "Content-Encoding: gzip",
                                       "--data-binary",
                                       "@" + packed,
                                       echo,
                                       "--next",
                                       "-sS",
                                       "-d",
                                       "plain",
                                       echo,
                                       "--next",
                                       "-sS",
                                       "-H",
                                       "Content-Encoding: zstd",
                                       "-o",
                                       "/dev/null",
                                       "-w",
                                       "%{http_code} %{num_connects}",
                                       "-d",
                                       "x",
                                       echo});
    EXPECT_EQ(posted.out, small + "plain" + "415 0") << posted.err;
    co_await own.end();
}

// The client gets flushed bytes before the handler continues, in every coding: Node waits for the
// first event before it asks for the second.
weir::task<> node_reads_events() {
    weir::event more;
    http::router routes;
    routes.use(http::compression());
    routes.get("/events", [&] {
        return http::response::stream("text/event-stream",
                                      [&](http::body_writer& out) -> weir::task<> {
                                          co_await out.write("data: one\n\n");
                                          co_await out.flush();
                                          co_await more.wait();
                                          more.clear();
                                          co_await out.write("data: two\n\n");
                                      });
    });
    routes.get("/more", [&] {
        more.set();
        return http::response();
    });
    site own(std::move(routes));
    const auto ran = co_await weir_test::node(R"(
const base = process.argv[2];
(async () => {
    for (const coding of ['gzip', 'br', 'identity']) {
        const answer = await fetch(base + '/events', {headers: {'accept-encoding': coding}});
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let text = '';
        while (!text.includes('one')) text += (await reader.read()).value;
        await fetch(base + '/more');
        for (;;) {
            const {value, done} = await reader.read();
            if (done) break;
            text += value;
        }
        console.log(answer.headers.get('content-encoding'), JSON.stringify(text));
    }
})();
)",
                                              {own.url("")});
    EXPECT_EQ(ran.out,
              "gzip \"data: one\\n\\ndata: two\\n\\n\"\n"
              "br \"data: one\\n\\ndata: two\\n\\n\"\n"
              "null \"data: one\\n\\ndata: two\\n\\n\"\n")
        << ran.err;
    co_await own.end();
}

weir::task<> chromium_shows_embedded_pages() {
    http::router routes;
    routes.use(http::compression({.min_size = 1}));
    routes.get("/{path...}", http::assets(embedded_site()));
    site own(std::move(routes));
    {
        weir_test::browser page;
        for (int visit = 0; visit < 2; ++visit) {
            co_await page.open(own.url("/"));
            const std::string title = co_await page.evaluate("document.title");
            EXPECT_EQ(title, "Site");
            const std::string color =
                co_await page.evaluate("getComputedStyle(document.querySelector('p')).color");
            EXPECT_EQ(color, "rgb(0, 128, 0)");
        }
        const std::string answer = co_await page.evaluate(
            "fetch('/', {cache: 'no-cache'}).then(a => a.status + ' ' + "
            "a.headers.get('content-encoding') + ' ' + a.headers.get('etag').slice(0, 2))");
        EXPECT_EQ(answer, "200 br W/");
    }
    co_await own.end();
}

// Slow to start, and which driver the server has is all the same to them: once is enough.
TEST(Clients, NodeReadsEventsAsTheyAreFlushed) {
    weir_test::run_io(weir::driver_kind::epoll, &node_reads_events);
}
TEST(Clients, ChromiumShowsEmbeddedPages) {
    weir_test::run_io(weir::driver_kind::epoll, &chromium_shows_embedded_pages);
}

}  // namespace
