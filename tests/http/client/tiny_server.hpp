// SPDX-License-Identifier: MIT
// A server that responds with the bytes a test gives it, valid HTTP or not.
#pragma once

#include <weir/group.hpp>
#include <weir/handle.hpp>
#include <weir/io/buffered_reader.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/serve.hpp>
#include <weir/io/socket.hpp>
#include <weir/spawn.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace weir_test {

// One request as it was received.
struct seen_request {
    std::string head;  // with its empty line
    std::string body;  // as long as Content-Length says
    std::string target() const {
        const std::size_t begin = head.find(' ') + 1;
        return head.substr(begin, head.find(' ', begin) - begin);
    }
    std::string header(std::string_view name) const {
        const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
        if (at == std::string::npos) {
            return "";
        }
        const std::size_t begin = at + name.size() + 4;
        return head.substr(begin, head.find("\r\n", begin) - begin);
    }
};

class tiny_server {
public:
    // Called for each request; false closes the connection.
    using handler = std::function<weir::task<bool>(seen_request&, weir::io::socket&)>;

    explicit tiny_server(handler answer)
        : answer_(std::move(answer)),
          listener_(weir::io::listen(weir::io::address::loopback(0))),
          running_(weir::spawn(accept_all())) {}
    tiny_server(const tiny_server&) = delete;
    tiny_server& operator=(const tiny_server&) = delete;

    // Must be awaited before the server is destroyed.
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
        listener_.close();
    }
    weir::io::address address() const { return listener_.local_address(); }
    std::string url(std::string_view target = "/", std::string_view host = "127.0.0.1") const {
        return "http://" + std::string(host) + ":" + std::to_string(address().port()) +
               std::string(target);
    }
    int connections() const noexcept { return connections_; }
    int requests() const noexcept { return requests_; }
    int open() const noexcept { return open_; }            // connections now
    int most_open() const noexcept { return most_open_; }  // connections at a time

private:
    weir::task<> accept_all() {
        co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
            for (;;) {
                weir::io::socket peer = co_await listener_.accept();
                peer.set_no_delay(true);
                ++connections_;
                group.spawn(talk(std::move(peer)));
            }
        });
    }
    weir::task<> talk(weir::io::socket peer) {
        struct open_guard {
            explicit open_guard(int& count) noexcept : open(count) { ++open; }
            open_guard(const open_guard&) = delete;
            ~open_guard() { --open; }
            int& open;
        };
        const open_guard guard(open_);
        most_open_ = std::max(most_open_, open_);
        try {
            weir::io::buffered_reader reader(peer);
            for (;;) {
                auto head = co_await reader.read_until("\r\n\r\n", 100'000);
                if (!head.has_value()) {
                    co_return;
                }
                ++requests_;
                seen_request seen{std::string(*head) + "\r\n\r\n", ""};
                const std::string size = seen.header("Content-Length");
                if (!size.empty() && seen.header("Expect").empty()) {
                    seen.body.resize(std::stoul(size));
                    co_await reader.read_exact(weir::io::bytes(seen.body));
                }
                const bool keeps_open = co_await answer_(seen, peer);
                if (!keeps_open) {
                    co_return;
                }
            }
        } catch (const std::exception&) {
            // The client closed the connection, as tests of cancellation do.
        }
    }

    handler answer_;
    weir::io::listener listener_;
    weir::handle<void> running_;
    int connections_ = 0;
    int requests_ = 0;
    int open_ = 0;
    int most_open_ = 0;
};

inline std::string ok_answer(std::string_view body, std::string_view more_headers = "") {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           std::string(more_headers) + "\r\n" + std::string(body);
}

inline weir::task<bool> say(weir::io::socket& peer, std::string text) {
    co_await peer.write(text);
    co_return true;
}

// Text in which a lost or repeated piece shows.
inline std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
        text[i] = static_cast<char>('a' + (i * 31 + i / 977) % 26);
    }
    return text;
}

}  // namespace weir_test
