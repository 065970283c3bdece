// SPDX-License-Identifier: MIT
//
// The servers of suite io on Boost.Asio, as its own coroutine examples write them: a coroutine per
// connection on one io_context, with the loop's own executor type.
#include "asio_peer.hpp"

#include <array>
#include <string>

namespace peer {
namespace {

using tcp = asio::ip::tcp;
using tcp_socket = asio::basic_stream_socket<tcp, executor>;
using tcp_acceptor = asio::basic_socket_acceptor<tcp, executor>;

awaitable<void> echo(tcp_socket connection) {
    try {
        std::array<char, 1024> data;
        for (;;) {
            const std::size_t count =
                co_await connection.async_read_some(asio::buffer(data), use_awaitable);
            co_await asio::async_write(connection, asio::buffer(data, count), use_awaitable);
        }
    } catch (const std::exception&) {  // the end of the stream among others
    }
}

awaitable<void> discard(tcp_socket connection) {
    std::uint64_t received = 0;
    std::vector<char> data(64 * 1024);
    for (;;) {
        boost::system::error_code error;
        const std::size_t count = co_await connection.async_read_some(
            asio::buffer(data), asio::redirect_error(use_awaitable, error));
        if (error) break;
        received += count;
    }
    const std::string answer = std::to_string(received) + "\n";
    co_await asio::async_write(connection, asio::buffer(answer), use_awaitable);
}

awaitable<void> serve(tcp_acceptor& acceptor, bool streaming) {
    for (;;) {
        tcp_socket connection = co_await acceptor.async_accept(use_awaitable);
        connection.set_option(tcp::no_delay(true));
        asio::co_spawn(acceptor.get_executor(),
                       streaming ? discard(std::move(connection)) : echo(std::move(connection)),
                       asio::detached);
    }
}

}  // namespace
}  // namespace peer

int main(int argc, char** argv) {
    using namespace peer;
    const std::string_view kind = argc == 2 ? argv[1] : "";
    if (kind != "echo" && kind != "stream") {
        std::fprintf(stderr, "usage: %s echo|stream\n", argv[0]);
        return 64;
    }
    loop context;
    tcp_acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    std::printf("%u\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    context.start(serve(acceptor, kind == "stream"));
    context.run();
}
