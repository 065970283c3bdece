// SPDX-License-Identifier: MIT
// I/O: a TCP proxy with a limit on connections and an idle timeout
//
// tcp_proxy                      plays a small scene with a backend and a client of its own
// tcp_proxy ADDRESS BACKEND      serves until Ctrl-C: tcp_proxy 127.0.0.1:7777 127.0.0.1:80
#include <weir/io/io.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <string>

namespace io = weir::io;
using namespace std::chrono_literals;

// Forwards connections to one backend, at most 100 at a time; those beyond wait for a place.
class proxy {
public:
    explicit proxy(io::address backend) : backend_(std::move(backend)) {}

    weir::task<> operator()(io::socket client, weir::tcp::session&) {
        auto place = co_await places_.acquire();
        io::socket server = co_await weir::timeout(5s, io::connect(backend_));
        const io::copied_both moved =
            co_await io::copy_both(client, server, {.idle_timeout = 5min});
        std::cout << moved.left_to_right << " bytes there, " << moved.right_to_left << " back"
                  << (moved.is_idle ? ", then nothing for five minutes" : "") << '\n';
    }

private:
    io::address backend_;
    weir::semaphore places_{100};
};

// A backend that answers in capital letters once the request is complete.
weir::task<> shout(io::socket peer, weir::tcp::session&) {
    std::string text = co_await io::read_all(peer, 1000);
    for (char& letter : text) {
        letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    co_await peer.write(text);
}

weir::task<> scene() {
    io::listener backend = io::listen(io::address::loopback(0));
    proxy forward(backend.local_address());
    io::listener front = io::listen(io::address::loopback(0));
    const io::address here = front.local_address();
    auto server = weir::spawn(weir::tcp::serve(std::move(backend), shout));
    auto handler = [&](io::socket peer, weir::tcp::session& session) {
        return forward(std::move(peer), session);
    };
    auto proxying = weir::spawn(weir::tcp::serve(std::move(front), handler));

    io::socket client = co_await io::connect(here);
    co_await client.write("hello through the proxy");
    co_await client.close_write();  // half-closed: the answer still comes
    const std::string answer = co_await io::read_all(client, 1000);
    client.close();

    proxying.cancel();  // lets the connection end
    co_await proxying.wait();
    std::cout << answer << '\n';
    server.cancel();
    co_await server.wait();
}

weir::task<> serve_at(std::string where, std::string backend) {
    proxy forward(io::address::parse(backend));
    auto handler = [&](io::socket peer, weir::tcp::session& session) {
        return forward(std::move(peer), session);
    };
    co_await weir::tcp::serve(io::address::parse(where), handler);
}

int main(int count, char** arguments) {
    if (count == 3) {
        return weir::run_main(serve_at(arguments[1], arguments[2]));
    }
    return weir::run_main(scene());
}
