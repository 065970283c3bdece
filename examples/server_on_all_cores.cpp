// SPDX-License-Identifier: MIT
// I/O: one server, a loop on every core
//
// server_on_all_cores             two loops share a port and serve a few clients
// server_on_all_cores ADDRESS     serves there on all cores until SIGTERM or Ctrl-C
#include <weir/io/io.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <string>

namespace io = weir::io;
using namespace std::chrono_literals;

weir::task<> greet(io::socket peer) {
    co_await peer.write("hello");
}

// Each loop has a listener of its own on the same port; the system spreads the connections.
weir::task<> serve_on(std::size_t loops, std::string where) {
    const io::address at = io::address::parse(where);
    auto serve = [at](std::size_t) {
        return weir::tcp::serve(at, greet, {.listen = {.reuse_port = true}});
    };
    co_await weir::on_threads(loops, serve);
}

weir::task<std::string> ask(io::address server) {
    for (;;) {
        try {
            io::socket connection = co_await io::connect(server);
            co_return co_await io::read_all(connection, 100);
        } catch (const weir::io_error& error) {
            if (error.code() != std::errc::connection_refused) {
                throw;
            }
        }
        co_await weir::sleep(1ms);  // the threads are just starting
    }
}

weir::task<> scene() {
    const io::address at = io::listen(io::address::loopback(0)).local_address();  // a free port
    auto server = weir::spawn(serve_on(2, at.text()));
    for (int client = 1; client <= 10; ++client) {
        const std::string answer = co_await ask(at);
        std::cout << answer << (client < 10 ? " " : "\n");
    }
    server.cancel();
    co_await server.wait();
}

int main(int count, char** arguments) {
    if (count > 1) {
        return weir::run_main(serve_on(weir::processor_count(), arguments[1]));
    }
    return weir::run_main(scene());
}
