// SPDX-License-Identifier: MIT
// Vectored reads: a message's header and body go into their own buffers in one call
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <array>
#include <iostream>
#include <stdexcept>
#include <string>

namespace io = weir::io;

weir::task<> send(io::address to) {
    io::socket peer = co_await io::connect(to);
    const std::array<io::const_bytes, 2> parts{"size 11\n", "hello there"};
    co_await peer.write(parts);
}

// A read gives what has arrived, at least one byte, into one buffer after the other: usually all of
// it, but a reader has to go on where it was.
weir::task<> receive(io::listener& from) {
    io::socket peer = co_await from.accept();
    std::string header(8, '\0');
    std::string body(11, '\0');
    std::size_t got = 0;
    while (got < header.size() + body.size()) {
        const std::size_t in_header = std::min(got, header.size());
        const std::array<io::bytes, 2> parts{io::bytes(header).after(in_header),
                                             io::bytes(body).after(got - in_header)};
        const std::size_t count = co_await peer.read(parts);
        if (count == 0) {
            throw std::runtime_error("the message ends early");
        }
        got += count;
    }
    std::cout << header.substr(0, 7) << ": " << body << '\n';
}

weir::task<> run() {
    io::listener listener = io::listen(io::address::loopback(0));
    co_await weir::gather(receive(listener), send(listener.local_address()));
}

int main() {
    weir::run(run());
}
