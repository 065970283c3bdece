// SPDX-License-Identifier: MIT
//
// The plain-text server of suite http on Boost.Beast, in the form of its example
// 'http_server_fast': callbacks, a fixed buffer per connection, a parser and a response that are
// used again and again; no strands, no type-erased executors, and no timers.
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using executor = asio::io_context::executor_type;
using tcp = asio::ip::tcp;
using tcp_socket = asio::basic_stream_socket<tcp, executor>;
using tcp_acceptor = asio::basic_socket_acceptor<tcp, executor>;

// Formatted once a second.
const std::string& date() {
    static std::string text;
    static std::time_t formatted_at = 0;
    const std::time_t now = std::time(nullptr);
    if (now != formatted_at) {
        formatted_at = now;
        char buffer[64];
        std::tm parts{};
        gmtime_r(&now, &parts);
        text.assign(buffer,
                    std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts));
    }
    return text;
}

class session {
public:
    explicit session(tcp_socket socket) : socket_(std::move(socket)) {}

    void read() {
        parser_.emplace();
        http::async_read(socket_, buffer_, *parser_, [this](beast::error_code error, std::size_t) {
            if (error) {
                delete this;
            } else {
                answer();
            }
        });
    }

private:
    void answer() {
        const auto& request = parser_->get();
        const bool found = request.method() == http::verb::get && request.target() == "/";
        response_.emplace(found ? http::status::ok : http::status::not_found, request.version());
        response_->set(http::field::server, "beast");
        response_->set(http::field::date, date());
        response_->set(http::field::content_type, "text/plain");
        response_->body() = "Hello, World!";
        response_->keep_alive(request.keep_alive());
        response_->content_length(response_->body().size());
        serializer_.emplace(*response_);
        http::async_write(socket_, *serializer_, [this](beast::error_code error, std::size_t) {
            if (error || !response_->keep_alive()) {
                delete this;
            } else {
                read();
            }
        });
    }

    tcp_socket socket_;
    beast::flat_static_buffer<4096> buffer_;
    std::optional<http::request_parser<http::empty_body>> parser_;
    std::optional<http::response<http::string_body>> response_;
    std::optional<http::response_serializer<http::string_body>> serializer_;
};

void accept(tcp_acceptor& acceptor) {
    acceptor.async_accept([&acceptor](beast::error_code error, tcp_socket socket) {
        if (!error) {
            socket.set_option(tcp::no_delay(true));
            (new session(std::move(socket)))->read();
        }
        accept(acceptor);
    });
}

}  // namespace

int main() {
    asio::io_context context(1);
    tcp_acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    std::printf("%u\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    accept(acceptor);
    context.run();
}
