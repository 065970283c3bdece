// SPDX-License-Identifier: MIT
// R14: a server that finishes its work when it receives SIGTERM
//
// graceful_server             a client asks, the server gets SIGTERM, and the answer still comes
// graceful_server ADDRESS     serves there: each line is answered after a second
#include <weir/io/io.hpp>
#include <weir/weir.hpp>

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>

namespace io = weir::io;
using namespace std::chrono_literals;

// Waits for a request where it may be sent home, and answers where it may not.
weir::task<> answer_slowly(io::socket peer, weir::tcp::session& session) {
    io::buffered_reader<io::socket&> reader(peer);
    for (;;) {
        const auto line = co_await session.idle(reader.read_line(1000));
        if (!line || !*line) {
            co_return;
        }
        const std::string request(**line);
        co_await weir::sleep(1s);
        co_await peer.write("done: " + request + "\n");
    }
}

weir::task<> client(io::address server) {
    io::socket connection = co_await io::connect(server);
    co_await connection.write("bake a cake\n");
    co_await weir::sleep(100ms);
    std::cout << "sending SIGTERM to ourselves" << std::endl;
    ::kill(::getpid(), SIGTERM);
    const std::string answer = co_await io::read_all(connection, 1000);
    std::cout << answer;
}

// The client is part of the scene, so its task must not end with the server's: it is shielded.
weir::task<> scene() {
    io::listener listener = io::listen(io::address::loopback(0));
    auto customer = weir::spawn(client(listener.local_address()));
    auto goodbye = [&]() -> weir::task<> { co_await customer; };
    co_await weir::finally(weir::tcp::serve(std::move(listener), answer_slowly), goodbye);
}

weir::task<> serve_at(std::string where) {
    co_await weir::tcp::serve(io::address::parse(where), answer_slowly);
}

int main(int count, char** arguments) {
    const int code = weir::run_main(count > 1 ? serve_at(arguments[1]) : scene());
    std::cout << "ends with " << code << '\n';
    return code;
}
