// SPDX-License-Identifier: MIT
// weir watch: it survives restarts of the service, and ends where waiting cannot succeed.

#include "support.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

namespace weir_test {
namespace {

// Answers every request with the same text, as a proxy does whose service is away.
class refusing {
public:
    explicit refusing(std::string answer) : answer_(std::move(answer)) {
        door_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int yes = 1;
        ::setsockopt(door_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        EXPECT_EQ(::bind(door_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
        EXPECT_EQ(::listen(door_, 16), 0);
        EXPECT_EQ(::getsockname(door_, reinterpret_cast<sockaddr*>(&at), &size), 0);
        address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
        thread_ = std::thread([this] { serve(); });
    }
    refusing(const refusing&) = delete;
    refusing& operator=(const refusing&) = delete;
    ~refusing() { stop(); }

    void stop() {
        if (thread_.joinable()) {
            ::shutdown(door_, SHUT_RDWR);
            thread_.join();
            ::close(door_);
        }
    }
    int requests() const { return requests_; }

    std::string address;

private:
    void serve() {
        for (;;) {
            const int peer = ::accept4(door_, nullptr, nullptr, SOCK_CLOEXEC);
            if (peer < 0) {
                return;
            }
            char bytes[4096];
            std::string message;
            while (message.find("\r\n\r\n") == std::string::npos) {
                const ssize_t count = ::recv(peer, bytes, sizeof bytes, 0);
                if (count <= 0) {
                    break;
                }
                message.append(bytes, static_cast<std::size_t>(count));
            }
            static_cast<void>(::send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL));
            ::close(peer);
            ++requests_;
        }
    }

    std::string answer_;
    int door_ = -1;
    std::atomic<int> requests_ = 0;
    std::thread thread_;
};

constexpr const char* away =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

std::vector<std::string> watching(const std::string& address) {
    return {WEIR_PROGRAM, "watch", "--plain", "--server", "http://" + address};
}

TEST(Watch, OutlivesAProxyWhoseServiceIsAway) {
    refusing proxy(away);
    const temporary_folder folder;
    running_program watch(folder, watching(proxy.address));
    watch.wait_until([&] { return proxy.requests() >= 3; });
    EXPECT_TRUE(has(watch.err(), "503")) << watch.err();
    proxy.stop();
    serving here({}, {}, proxy.address);
    watch.wait_until([&] { return has(watch.err(), "connected to"); });
    const program_output done = here.ask("submit", {"echo", "1", "--wait"});
    EXPECT_EQ(done.code, 0) << done.err;
    watch.wait_until([&] { return has(watch.out(), "completed"); });
    // An error that repeats is printed once.
    const std::string err = watch.err();
    EXPECT_EQ(err.find("503"), err.rfind("503")) << err;
}

TEST(Watch, OutlivesARestart) {
    auto here = std::make_unique<serving>();
    const std::string at = here->url.substr(7);
    const temporary_folder folder;
    running_program watch(folder, watching(at));
    watch.wait_until([&] {
        here->ask("submit", {"echo", "1", "--wait"});
        return has(watch.out(), "completed");
    });
    here.reset();
    watch.wait_until([&] { return !watch.err().empty(); });
    here = std::make_unique<serving>(std::vector<std::string>{}, std::vector<std::string>{}, at);
    watch.wait_until([&] { return has(watch.err(), "connected to"); });
}

TEST(Watch, EndsWhereTryingAgainIsInVain) {
    const struct {
        std::string answer;
        std::string message;
    } all[] = {
        {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", "--token-file"},
        {"HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nnot today", "403: not today"},
        {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "--server"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "proxy"},
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "127.0.0.1"},
    };
    for (const auto& each : all) {
        refusing proxy(each.answer);
        const program_output ended =
            call({"watch", "--plain", "--server", "http://" + proxy.address});
        EXPECT_EQ(ended.code, 1) << each.answer;
        EXPECT_TRUE(has(ended.err, each.message)) << ended.err;
    }
    serving here({}, {"WEIR_TOKEN=correct-horse-battery"});
    const program_output refused = here.ask("watch", {}, {"WEIR_TOKEN=wrong-horse-battery-staple"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(has(refused.err, "is not valid here")) << refused.err;
}

// In a terminal it draws on an alternate screen, and restores the terminal.
TEST(Watch, PaintsInATerminal) {
    need("/usr/bin/script", "bsdutils");
    serving here;
    const temporary_folder folder;
    running_program watch(
        folder, {"script", "-qfc", std::string(WEIR_PROGRAM) + " watch --server " + here.url,
                 folder / "typed"});
    const auto seen = [&](std::string_view part) {
        return [&watch, part] { return has(watch.out(), part); };
    };
    watch.wait_until(seen("\x1b[?1049h"));
    watch.wait_until([&] {
        here.ask("submit", {"sleep", R"({"seconds": 0.3})", "--wait", "-q", "línea-🦆"});
        return has(watch.out(), "completed");
    });
    watch.wait_until(seen("línea-🦆"));
    const std::string before = watch.out();
    EXPECT_TRUE(has(before, "running")) << before;
    const program_output tree = call({"status", "--server", here.url});
    EXPECT_EQ(tree.code, 0);
}

}  // namespace
}  // namespace weir_test
