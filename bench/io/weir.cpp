// SPDX-License-Identifier: MIT
//
// The servers of suite io on Weir, as a user writes them: a group, a fiber per connection.
//
//   bench_weir_io uring|epoll echo|stream
#include <weir/group.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/loop.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace io = weir::io;

weir::task<> echo(io::socket peer) {
    try {
        std::array<char, 1024> buffer;
        for (;;) {
            const std::size_t count = co_await peer.read(buffer);
            if (count == 0) co_return;
            co_await peer.write(io::bytes(buffer).first(count));
        }
    } catch (const weir::io_error&) {  // the client is gone; that must not end the group
    }
}

weir::task<> discard(io::socket peer) {
    std::vector<char> buffer(64 * 1024);
    std::uint64_t received = 0;
    for (;;) {
        const std::size_t count = co_await peer.read(buffer);
        if (count == 0) break;
        received += count;
    }
    const std::string answer = std::to_string(received) + "\n";
    co_await peer.write(answer);
}

weir::task<> serve(bool streaming) {
    io::listener listener = io::listen(io::address::loopback(0));
    std::printf("%u\n", listener.local_address().port());
    std::fflush(stdout);
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        for (;;) {
            io::socket peer = co_await listener.accept();
            peer.set_no_delay(true);
            if (streaming) {
                group.spawn(discard(std::move(peer)));
            } else {
                group.spawn(echo(std::move(peer)));
            }
        }
    });
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view driver = argc == 3 ? argv[1] : "";
    const std::string_view kind = argc == 3 ? argv[2] : "";
    if ((driver != "uring" && driver != "epoll") || (kind != "echo" && kind != "stream")) {
        std::fprintf(stderr, "usage: %s uring|epoll echo|stream\n", argv[0]);
        return 64;
    }
    weir::loop loop(
        {.driver = driver == "uring" ? weir::driver_kind::uring : weir::driver_kind::epoll});
    loop.run(serve(kind == "stream"));
}
