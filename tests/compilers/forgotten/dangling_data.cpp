// SPDX-License-Identifier: MIT
// Operations keep no data of their own. One that is awaited after the temporary that it writes has
// gone is a warning of clang; awaited at once, and with data that lives on, it is none.

#include <weir/io/any_stream.hpp>
#include <weir/io/file.hpp>
#include <weir/io/pipe.hpp>
#include <weir/io/socket.hpp>
#include <weir/io/udp.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace io = weir::io;

std::string text();

weir::task<> right(io::socket& peer, std::string_view view, std::vector<char> bytes) {
    co_await peer.write(text());
    co_await peer.write("a literal");
    const std::string kept = text();
    auto later = peer.write(kept);
    co_await std::move(later);
    auto viewed = peer.write(view.substr(1));
    co_await std::move(viewed);
    auto other = peer.write(bytes);
    co_await std::move(other);
    const io::const_bytes part(view.substr(2));
    co_await peer.write(part);
}

#if defined(WEIR_DANGLES)
weir::task<> wrong(io::socket& peer, io::any_stream& stream, io::file& file, io::pipe_writer& pipe,
                   weir::udp::socket& datagrams) {
    auto first = peer.write(text());
    co_await std::move(first);
    auto second = stream.write(text());
    co_await std::move(second);
    auto third = file.write(text());
    co_await std::move(third);
    auto fourth = pipe.write(text());
    co_await std::move(fourth);
    auto fifth = datagrams.send(text());
    co_await std::move(fifth);
    const io::const_bytes part(text());
    co_await peer.write(part);
}
#endif
