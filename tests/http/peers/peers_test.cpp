// SPDX-License-Identifier: MIT
// The programs that other tests rely on: they start, answer, and end with the test.
#include "support/peers.hpp"

#include "support/io.hpp"

#include <weir/io/serve.hpp>
#include <weir/io/tcp.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest-spi.h>

#include <array>

using namespace weir_test;
using namespace std::chrono_literals;

namespace {

constexpr const char* node_script = R"(
const http = require('http');
const server = http.createServer((q, r) => r.end('node ' + process.argv[2] + ' ' + q.url));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
)";

constexpr const char* python_script = R"(
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ('python ' + sys.argv[1] + ' ' + self.path).encode()
        self.send_response(200)
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *about): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port)
server.serve_forever()
)";

// Answers every request alike.
weir::task<> answer(weir::io::socket peer) {
    const std::string page =
        "<!doctype html><title>ours</title><p id=a>from weir</p><script>setTimeout(() => {"
        " document.getElementById('a').textContent += ', later'; }, 20)</script>";
    const std::string text = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: " +
                             std::to_string(page.size()) + "\r\n\r\n" + page;
    std::array<char, 8192> buffer;
    for (;;) {
        const std::size_t count = co_await peer.read(buffer);
        if (count == 0) {
            co_return;
        }
        co_await peer.write(text);
    }
}

bool is_gone(int pid) {
    return kill(pid, 0) != 0;
}

WEIR_IO_TEST(peers, nginx_and_curl) {
    int pid = 0;
    {
        nginx origin("location /hello { return 200 'hello'; }\nlocation / { root www; }");
        origin.write("www/a.txt", "a file");
        const auto output = co_await curl({origin.url("/hello"), "-w", " %{http_code}"});
        EXPECT_EQ(output.out, "hello 200") << output.err;
        EXPECT_EQ(output.status.code(), 0);
        const auto file = co_await curl({origin.url("/a.txt")});
        EXPECT_EQ(file.out, "a file");
        // nginx writes the line after the answer.
        const std::string expected = "GET /hello 200 5 2\nGET /a.txt 200 6 3\n";
        for (int i = 0; i < 500 && origin.access_log() != expected; ++i) {
            co_await weir::sleep(10ms);
        }
        EXPECT_EQ(origin.access_log(), expected);
        const std::string id = origin.folder().read("nginx.pid");
        pid = std::atoi(id.c_str());
        EXPECT_FALSE(is_gone(pid));
    }
    EXPECT_TRUE(is_gone(pid));
    const auto refused = co_await curl({"http://127.0.0.1:1/"});
    EXPECT_EQ(refused.status.code(), 7);
    EXPECT_NE(refused.err, "");
    const auto sent = co_await curl({"--data-binary", "@-", "http://127.0.0.1:1/"}, "text");
    EXPECT_EQ(sent.status.code(), 7);
}

TEST(peers, nginx_without_a_loop) {
    nginx one("location / { return 204; }");
    nginx two("location / { return 204; }", {.http = "server_tokens off;"});
    EXPECT_NE(one.port(), two.port());
    EXPECT_TRUE(accepts(one.port()));
    EXPECT_TRUE(accepts(two.port()));
    one.stop();
    EXPECT_FALSE(accepts(one.port()));
}

TEST(peers, a_bad_configuration_is_told) {
    try {
        nginx("no_such_directive 7;");
        FAIL();
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string(e.what()).find("no_such_directive"), std::string::npos) << e.what();
    }
}

WEIR_IO_TEST(peers, scripts_and_tools) {
    const node_server script(node_script, {"x"});
    const python_server other(python_script, {"y"});
    const auto first = co_await curl({script.url("/p")});
    EXPECT_EQ(first.out, "node x /p");
    const auto second = co_await curl({other.url("/q")});
    EXPECT_EQ(second.out, "python y /q");
    const auto ran = co_await node("console.log(6 * 7, process.argv[2]); process.exit(3)", {"z"});
    EXPECT_EQ(ran.out, "42 z\n");
    EXPECT_EQ(ran.status.code(), 3);
    const auto snake = co_await python("import sys; print(6 * 7, sys.argv[1])", {"z"});
    EXPECT_EQ(snake.out, "42 z\n") << snake.err;
    const auto load = co_await wrk({"-t1", "-c2", "-d1", script.url()});
    EXPECT_NE(load.out.find("Requests/sec"), std::string::npos) << load.out << load.err;
}

WEIR_IO_TEST(peers, web_socket_packages) {
    need_node_ws();
    need_python_websockets();
    const auto ran = co_await node("console.log(typeof require('ws').WebSocketServer)");
    EXPECT_EQ(ran.out, "function\n") << ran.err;
    const auto snake = co_await python("import websockets; print('ok')");
    EXPECT_EQ(snake.out, "ok\n") << snake.err;
}

WEIR_IO_TEST(peers, a_browser_at_a_server_of_ours) {
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::string url = "http://" + listener.local_address().text() + "/";
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        group.spawn(weir::tcp::serve(std::move(listener), answer));
        browser page;
        co_await page.open(url);
        const std::string title = co_await page.evaluate("document.title");
        EXPECT_EQ(title, "ours");
        co_await page.wait_for("document.querySelector('p').textContent == 'from weir, later'");
        const std::string dom = co_await page.dom();
        EXPECT_NE(dom.find("from weir, later"), std::string::npos) << dom;
        const std::string sum =
            co_await page.evaluate("fetch('/x').then(r => r.text()).then(t => t.length + 1)");
        EXPECT_GT(std::stoi(sum), 100);
        const std::string picture = co_await page.screenshot();
        EXPECT_EQ(picture.substr(0, 6), "iVBORw");
        bool failed = false;
        try {
            co_await page.evaluate("nothing.here");
        } catch (const std::runtime_error&) {
            failed = true;
        }
        EXPECT_TRUE(failed);
        group.cancel();
    });
}

TEST(peers, one_that_is_missing_skips_the_test_and_fails_in_ci) {
    testing::TestPartResultArray results;
    bool has_left = false;
    try {
        const testing::ScopedFakeTestPartResultReporter reporter(&results);
        need("/no/such/file", "no-such-package");
    } catch (const testing::AssertionException&) {
        has_left = true;
    }
    EXPECT_TRUE(has_left);
    ASSERT_EQ(results.size(), 1);
    const testing::TestPartResult& failure = results.GetTestPartResult(0);
    EXPECT_EQ(failure.skipped(), std::getenv("CI") == nullptr);
    EXPECT_EQ(failure.fatally_failed(), std::getenv("CI") != nullptr);
    EXPECT_NE(std::string(failure.message()).find("no-such-package"), std::string::npos);
}

// A program ends when the process that started it is killed.
TEST(peers, end_with_the_test_that_is_killed) {
    need("/usr/sbin/nginx", "nginx-light");
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
        const temporary_folder folder;
        running_program sleeper(folder, {"sleep", "100"});
        const int pid = sleeper.pid();
        sleeper.wait_until([&] {  // setpriv has become sleep
            std::ifstream name("/proc/" + std::to_string(pid) + "/comm");
            return std::string{std::istreambuf_iterator<char>(name), {}} == "sleep\n";
        });
        const bool is_written = write(ends[1], &pid, sizeof pid) == sizeof pid;
        std::filesystem::remove_all(folder.path());
        kill(is_written ? getpid() : 0, SIGKILL);
    }
    int pid = 0;
    ASSERT_EQ(read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    close(ends[0]);
    close(ends[1]);
    waitpid(child, nullptr, 0);
    for (int i = 0; i < 1000 && !is_gone(pid); ++i) {
        // Its new parent may be slow to reap: a zombie has ended, too.
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        const std::string text{std::istreambuf_iterator<char>(stat), {}};
        if (text.find(") Z") != std::string::npos) {
            return;
        }
        usleep(2'000);
    }
    EXPECT_TRUE(is_gone(pid));
}

}  // namespace
