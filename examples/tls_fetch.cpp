// SPDX-License-Identifier: MIT
// TLS: fetch from a server whose certificate was made on the spot, and refuse the wrong host
#include <weir/io/listener.hpp>
#include <weir/io/read.hpp>
#include <weir/io/tls.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/weir.hpp>

#include <iostream>

namespace io = weir::io;
namespace tls = weir::tls;

weir::task<> answer(io::socket socket, tls::context site) {
    auto client = co_await tls::accept(std::move(socket), site);
    std::array<char, 1024> request;
    const std::size_t size = co_await client.read(request);
    std::cout << "server: " << client.server_name() << " got a request for "
              << std::string_view(request.data(), size) << '\n';
    co_await client.write("hello over " + std::string(client.version()) + "\n");
    co_await client.close_write();  // the client knows now that it has got everything
}

weir::task<> serve(io::listener& listener, tls::context site) {
    for (;;) {
        io::socket socket = co_await listener.accept();
        // A client that rejects the certificate, or just disconnects, does not end the server.
        (void)co_await weir::settle(answer(std::move(socket), site));
    }
}

weir::task<std::string> fetch(io::address from, tls::context trust, std::string host) {
    io::socket socket = co_await io::connect(from);
    auto server = co_await tls::connect(std::move(socket), trust, host);
    std::cout << "client: connected to " << server.peer_subject()
              << (server.was_resumed() ? ", with a shorter handshake" : "") << '\n';
    co_await server.write("a greeting");
    co_return co_await io::read_all(server, 1 << 20);
}

weir::task<> run() {
    const tls::certificate_authority authority("Example Authority");
    const tls::certificate own = authority.issue({.names = "localhost"});
    const auto site =
        tls::context::server({.certificate_pem = own.certificate_pem, .key_pem = own.key_pem});
    const auto trust = tls::context::client({.ca_pem = authority.certificate_pem()});

    io::listener listener = io::listen(io::address::loopback(0));
    const auto server = weir::spawn(serve(listener, site));
    for (int visit = 1; visit <= 2; ++visit) {
        const std::string text = co_await fetch(listener.local_address(), trust, "localhost");
        std::cout << "client: got " << text;
    }
    try {
        co_await fetch(listener.local_address(), trust, "bank.example");
    } catch (const weir::tls_error& refused) {
        std::cout << "client: " << refused.what() << '\n';
    }
    try {  // a client that trusts only the system's authorities rejects this one
        co_await fetch(listener.local_address(), tls::context::client(), "localhost");
    } catch (const weir::tls_error& refused) {
        std::cout << "client: " << refused.what() << '\n';
    }
    server.cancel();
    co_await server.wait();
}

int main() {
    weir::run(run());
}
