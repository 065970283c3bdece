// SPDX-License-Identifier: MIT
// A client that says what it likes, byte by byte, and a server at the other end of a simulated
// connection.
#pragma once

#include <weir/http/server.hpp>
#include <weir/io/error.hpp>
#include <weir/testing/io/simulated_network.hpp>
#include <weir/testing/testing.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace http_test {

namespace http = weir::http;

// An answer as the client sees it.
struct answer {
    int status = 0;
    http::headers headers;
    std::string body;  // without its framing
    bool is_whole = false;
};

// Reads answers off a stream with a parser of its own, as simple as can be.
class answer_reader {
public:
    explicit answer_reader(weir::testing::simulated_stream& from) : from_(from) {}

    weir::task<answer> next(bool is_head = false) {
        answer read;
        const std::string head = co_await through("\r\n\r\n");
        if (head.size() < 12) {
            co_return read;
        }
        read.status = std::stoi(head.substr(9, 3));
        std::size_t at = head.find("\r\n") + 2;
        while (at + 2 < head.size()) {
            const std::size_t end = head.find("\r\n", at);
            const std::size_t colon = head.find(": ", at);
            read.headers.add(head.substr(at, colon - at), head.substr(colon + 2, end - colon - 2));
            at = end + 2;
        }
        if (is_head || read.status < 200 || read.status == 204 || read.status == 304) {
            read.is_whole = true;
        } else if (read.headers.get("transfer-encoding") == "chunked") {
            co_await chunks(read);
        } else if (const auto length = read.headers.find("content-length")) {
            const auto size = static_cast<std::size_t>(std::stoull(std::string(*length)));
            read.body = co_await exactly(size);
            read.is_whole = read.body.size() == size;
        } else {
            read.body = co_await rest();
            read.is_whole = true;
        }
        co_return read;
    }

    // All that comes until the server closes.
    weir::task<std::string> rest() {
        for (;;) {
            const std::size_t came = co_await more();
            if (came == 0) {
                co_return std::exchange(received_, {});
            }
        }
    }
    bool has_ended() const noexcept { return has_ended_; }

private:
    weir::task<std::size_t> more() {
        char buffer[512];
        std::size_t came = 0;
        try {
            came = co_await from_.read(buffer);
        } catch (const weir::io_error&) {
            came = 0;
        }
        has_ended_ = came == 0;
        received_.append(buffer, came);
        co_return came;
    }
    weir::task<std::string> through(std::string_view mark) {
        for (;;) {
            const std::size_t found = received_.find(mark);
            if (found != std::string::npos) {
                co_return take(found + mark.size());
            }
            const std::size_t came = co_await more();
            if (came == 0) {
                co_return std::string();
            }
        }
    }
    weir::task<std::string> exactly(std::size_t size) {
        while (received_.size() < size) {
            const std::size_t came = co_await more();
            if (came == 0) {
                break;
            }
        }
        co_return take(std::min(size, received_.size()));
    }
    weir::task<> chunks(answer& into) {
        for (;;) {
            const std::string line = co_await through("\r\n");
            if (line.empty()) {
                co_return;
            }
            const auto size = static_cast<std::size_t>(std::stoull(line, nullptr, 16));
            const std::string data = co_await exactly(size + 2);
            if (data.size() != size + 2) {
                co_return;
            }
            into.body += data.substr(0, size);
            if (size == 0) {
                into.is_whole = true;
                co_return;
            }
        }
    }
    std::string take(std::size_t size) {
        std::string taken = received_.substr(0, size);
        received_.erase(0, size);
        return taken;
    }

    weir::testing::simulated_stream& from_;
    std::string received_;
    bool has_ended_ = false;
};

// Ended with `co_await with.end()`, since the server's task outlives no test.
class conversation {
public:
    explicit conversation(http::handler app, http::server_options options = {},
                          const weir::testing::network_options& network = {})
        : net_(network), app_(std::move(app)), ends_(net_.pair()), answers(ends_.first) {
        serving = weir::spawn(http::serve_connection(weir::io::any_stream(std::move(ends_.second)),
                                                     app_, options, session));
    }
    conversation(const conversation&) = delete;
    conversation& operator=(const conversation&) = delete;

    weir::task<> end() {
        client().close();
        serving.cancel();
        (void)co_await weir::settle(serving.wait());
    }

    weir::task<> say(std::string text) { co_await client().write(text); }
    weir::testing::simulated_stream& client() noexcept { return ends_.first; }

    weir::tcp::session session;
    weir::handle<void> serving;

private:
    weir::testing::simulated_network net_;
    http::handler app_;
    std::pair<weir::testing::simulated_stream, weir::testing::simulated_stream> ends_;

public:
    answer_reader answers;
};

// What the server answers to these bytes, up to the end of the connection, if the client sends
// nothing more and waits.
inline weir::task<std::string> everything_said_to(std::string bytes, http::handler app,
                                                  http::server_options options = {}) {
    conversation talk(std::move(app), options);
    co_await talk.say(bytes);
    co_await talk.client().close_write();
    std::string answers = co_await talk.answers.rest();
    co_await talk.end();
    co_return answers;
}

}  // namespace http_test
