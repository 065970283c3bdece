// SPDX-License-Identifier: MIT
// Errors of I/O as values: peers that refuse and reset are ordinary here, and nothing is thrown
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/weir.hpp>

#include <array>
#include <iostream>
#include <string>

namespace io = weir::io;

weir::task<> serve_one(io::listener& listener) {
    io::socket peer = co_await listener.accept();
    std::array<char, 4> kind;
    std::array<char, 64> rest;
    const std::array<io::bytes, 2> parts{io::bytes(kind), io::bytes(rest)};
    for (;;) {
        auto count = co_await peer.read(parts, io::as_result);  // one call fills both buffers
        if (!count) {
            std::cout << "gone: " << (io::is_disconnect(count.error()) ? "reset" : "?") << "\n";
            co_return;
        }
        if (*count == 0) {
            std::cout << "the end\n";
            co_return;
        }
        std::cout << std::string(kind.data(), 4) << ", then " << *count - 4 << " bytes\n";
    }
}

weir::task<> run() {
    io::listener listener = io::listen(io::address::loopback(0));
    const io::address address = listener.local_address();
    auto serving = weir::spawn(serve_one, std::ref(listener));
    auto peer = co_await io::connect(address, io::as_result);
    if (peer) {
        (void)co_await peer->write("PUT hello", io::as_result);
        co_await weir::sleep(std::chrono::milliseconds(20));
        peer->reset();
    }
    co_await serving;

    listener.close();
    auto refused = co_await io::connect(address, io::as_result);
    std::cout << (refused.error() == std::errc::connection_refused ? "refused" : "?") << "\n";
}

int main() {
    weir::run(run());
}
