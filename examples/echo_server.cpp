// SPDX-License-Identifier: MIT
// I/O: an echo server, and clients that talk to it
//
// echo_server             plays a small scene with clients of its own
// echo_server ADDRESS     serves there until SIGTERM or Ctrl-C: echo_server 127.0.0.1:7777
#include <weir/io/io.hpp>
#include <weir/weir.hpp>

#include <array>
#include <iostream>
#include <string>

namespace io = weir::io;

// One of these runs for each connection. Between messages the server may end it: session.idle.
weir::task<> echo(io::socket peer, weir::tcp::session& session) {
    std::array<char, 4096> buffer;
    for (;;) {
        const auto count = co_await session.idle(peer.read(buffer));
        if (count.value_or(0) == 0) {
            co_return;
        }
        co_await peer.write(io::bytes(buffer).first(*count));
    }
}

weir::task<std::string> shout(io::address server, std::string words) {
    io::socket connection = co_await io::connect(server);
    co_await connection.write(words);
    co_await connection.close_write();
    co_return co_await io::read_all(connection, 1000);
}

weir::task<> scene() {
    io::listener listener = io::listen(io::address::loopback(0));
    const io::address here = listener.local_address();
    auto server = weir::spawn(weir::tcp::serve(std::move(listener), echo));

    const auto [first, second] = co_await weir::gather(shout(here, "hello"), shout(here, "world"));
    std::cout << first << ' ' << second << '\n';

    server.cancel();  // closes the listener, lets connections finish
    co_await server.wait();
    std::cout << "the server has ended\n";
}

weir::task<> serve_at(std::string where) {
    co_await weir::tcp::serve(io::address::parse(where), echo);
}

int main(int count, char** arguments) {
    if (count > 1) {
        return weir::run_main(serve_at(arguments[1]));
    }
    return weir::run_main(scene());
}
