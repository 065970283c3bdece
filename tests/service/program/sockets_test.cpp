// SPDX-License-Identifier: MIT
// The sockets of `weir serve`: both addresses of localhost, a listening socket from systemd, and
// more clients than it has descriptors for.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/http/server.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/spawn.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace weir_test {
namespace {

namespace http = weir::http;
namespace io = weir::io;

// ---- localhost

// Delivers to a receiver at the address and returns the state and error of the task. `host` is how
// the task names the receiver.
weir::task<std::string> deliver(std::string url, io::address at, std::string host) {
    io::listener listener = io::listen(at);
    const std::string port = std::to_string(listener.local_address().port());
    auto answer = [](http::request& request) -> weir::task<http::response> {
        static_cast<void>(co_await request.text());
        co_return http::response::text("received");
    };
    const weir::handle<> receiver = weir::spawn(http::serve(std::move(listener), answer));
    http::client client;
    const std::string task = R"({"kind": "http", "max_attempts": 1, "payload": {"url": )"
                             R"("http://)" +
                             host + ":" + port + R"(/"}})";
    const std::string tasks = url + "/tasks";
    http::client_response taken = co_await client.post(tasks, task, "application/json");
    const std::string text = co_await taken.text();
    std::string state = "pending";
    if (taken.status() != http::status::accepted) {
        state = text;
    }
    while (state == "pending" || state == "running") {
        const std::string shown =
            tasks + "/" + http::member<std::string>(http::parse_json(text), "id");
        http::client_response found = co_await client.get(shown);
        const std::string body = co_await found.text();
        const boost::json::value record = http::parse_json(body);
        state = http::member<std::string>(record, "state");
        if (state == "failed") {
            state += ": " + http::member<std::string>(record, "error");
        }
    }
    receiver.cancel();
    co_await receiver.wait();
    co_return state;
}

TEST(ProgramSockets, LoopbackMeansBothAddressesOfLocalhost) {
    serving here({"--allow-address", "127.0.0.0/8", "--drain", "0.1"});
    const io::address four = io::address::loopback(0);
    const io::address six = io::address::loopback_v6(0);
    EXPECT_EQ(weir::run(deliver(here.url, four, "127.0.0.1")), "completed");
    EXPECT_EQ(weir::run(deliver(here.url, six, "[::1]")), "completed");
    EXPECT_EQ(weir::run(deliver(here.url, four, "localhost")), "completed");
    // No other range allows more than it says.
    serving strict({"--allow-address", "127.0.0.1", "--drain", "0.1"});
    EXPECT_EQ(weir::run(deliver(strict.url, four, "127.0.0.1")), "completed");
    const std::string refused = weir::run(deliver(strict.url, six, "[::1]"));
    EXPECT_TRUE(has(refused, "not allowed") || has(refused, "loopback")) << refused;
}

// ---- a service that was killed

// Not one that the system gives to clients, which would have it when the next service starts.
std::string own_address() {
    std::random_device random;
    for (;;) {
        const io::address at =
            io::address::loopback(static_cast<std::uint16_t>(10'000 + random() % 20'000));
        try {
            static_cast<void>(io::listen(at));
            return at.text();
        } catch (const weir::io_error&) {
            // somebody has it
        }
    }
}

// The kernel closes sockets that io_uring has used a moment after their process has ended.
TEST(ProgramSockets, TheNextServiceGetsTheAddressOfAKilledOne) {
    const std::string at = own_address();
    for (int round = 0; round < 8; ++round) {
        serving here({}, {}, at);
        ASSERT_TRUE(has(here.out(), at)) << here.err();
        auto connect = [&]() -> weir::task<> {
            std::vector<http::client> clients(10);
            for (http::client& each : clients) {
                http::client_response answer = co_await each.get(here.url + "/healthz");
                static_cast<void>(co_await answer.text());
            }
            here.signal(SIGKILL);
        };
        weir::run(in_time(connect()));
        EXPECT_EQ(here.wait(), 1000 + SIGKILL);
    }
}

// ---- a socket from systemd

// A listening socket, as systemd opens it for a socket unit.
class opened_socket {
public:
    opened_socket() : number_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        ::bind(number_, reinterpret_cast<const sockaddr*>(&at), size);
        ::listen(number_, 64);
        ::getsockname(number_, reinterpret_cast<sockaddr*>(&at), &size);
        url = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    }
    opened_socket(const opened_socket&) = delete;
    opened_socket& operator=(const opened_socket&) = delete;
    ~opened_socket() { ::close(number_); }

    int number() const noexcept { return number_; }
    std::string url;

private:
    int number_;
};

// LISTEN_PID is the process that is to use the socket, so a shell sets it and becomes the program.
std::vector<std::string> activated(const std::string& process, const std::string& count,
                                   const std::filesystem::path& database) {
    return {"sh",
            "-c",
            "LISTEN_PID=" + process + " LISTEN_FDS=" + count + " exec \"$0\" \"$@\"",
            WEIR_PROGRAM,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--drain",
            "0.1",
            "--database",
            database.string()};
}

TEST(ProgramSockets, TheSocketOfSystemdIsUsedAndOutlivesTheService) {
    const opened_socket socket;
    const temporary_folder folder;
    std::string first;
    {
        running_program here(folder, activated("$$", "1", folder / "tasks.db"), {},
                             socket.number());
        here.wait_until([&] { return has(here.out(), "curl"); });
        EXPECT_TRUE(has(here.out(), socket.url)) << here.out();
        const program_output done = call({"submit", "--server", socket.url, "echo", "1", "--wait"});
        EXPECT_EQ(done.code, 0) << done.err;
        first = done.out;
        here.signal(SIGTERM);
        int status = 0;
        ::waitpid(here.pid(), &status, 0);
        EXPECT_EQ(status, 0) << here.err();
    }
    // A client that comes between two processes waits in the socket for the next one.
    program_output late;
    std::thread client(
        [&] { late = call({"submit", "--server", socket.url, "echo", "2", "--wait"}); });
    const temporary_folder other;
    running_program next(other, activated("$$", "1", folder / "tasks.db"), {}, socket.number());
    client.join();
    EXPECT_EQ(late.code, 0) << late.err << next.err();
}

TEST(ProgramSockets, OneListeningSocketIsExpectedOfSystemd) {
    const opened_socket socket;
    const temporary_folder folder;
    const auto refusal = [&](const std::string& count, int number) {
        running_program here(folder, activated("$$", count, folder / "tasks.db"), {}, number);
        int status = 0;
        ::waitpid(here.pid(), &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << status;
        return here.err();
    };
    EXPECT_TRUE(has(refusal("2", socket.number()), "LISTEN_FDS"));
    const int no_socket = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_TRUE(has(refusal("1", no_socket), "LISTEN_FDS"));
    ::close(no_socket);
    // Meant for another process.
    running_program here(folder, activated("1", "1", folder / "tasks.db"), {}, socket.number());
    here.wait_until([&] { return has(here.out(), "curl"); });
    EXPECT_FALSE(has(here.out(), socket.url)) << here.out();
}

// ---- few descriptors

weir::task<> crowd(std::string url) {
    const io::address at = io::address::parse(url.substr(7));
    std::vector<io::socket> idle;
    for (int i = 0; i < 100; ++i) {
        idle.push_back(co_await io::connect(at));
    }
    for (int i = 0; i < 20; ++i) {
        http::client client;
        const std::string tasks = url + "/tasks";
        http::client_response taken =
            co_await client.post(tasks, R"({"kind": "echo"})", "application/json");
        const std::string text = co_await taken.text();
        EXPECT_EQ(taken.status(), http::status::accepted) << text;
    }
}

TEST(ProgramSockets, IdleClientsDoNotTakeTheLastDescriptors) {
    const temporary_folder folder;
    running_program here(
        folder, {"sh", "-c", "ulimit -n 64; exec \"$0\" \"$@\"", WEIR_PROGRAM, "serve", "--listen",
                 "127.0.0.1:0", "--drain", "0.1", "--database", folder / "tasks.db"});
    here.wait_until([&] { return has(here.out(), "curl"); });
    const std::string greeting = here.out();
    const std::size_t begin = greeting.find("http://");
    const std::string url = greeting.substr(begin, greeting.find(',', begin) - begin);
    weir::run(in_time(crowd(url)));
    EXPECT_TRUE(has(here.err(), "short of descriptors")) << here.err();
}

}  // namespace
}  // namespace weir_test
