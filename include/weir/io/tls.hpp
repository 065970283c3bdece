// SPDX-License-Identifier: MIT
// TLS over any byte stream, as client and as server.
//
//     auto trust = weir::tls::context::client();
//     auto socket = co_await weir::tcp::connect("example.org", 443);
//     auto secure = co_await weir::tls::connect(std::move(socket), trust, "example.org");
//     co_await secure.write("GET / HTTP/1.0\r\nHost: example.org\r\n\r\n");
//
// The peer's certificate and its host name are checked unless the options say otherwise. The stream
// keeps the contract of weir/io/byte_stream.hpp; in addition:
//
// - read returns 0 after the peer's close_notify. A transport that ends without it was cut off, by
//   a failure or by an attacker: tls_error with tls_failure::truncated.
// - A stopped or failed write may leave half a record with the transport. Later writes throw
// io_error (EPIPE) instead of sending what the peer cannot decrypt; reading continues.
// - close_write sends close_notify; the transport stays open. close and the destructor send
//   nothing, which the peer sees as a truncation: await close_write before, if the end matters.
// - Other errors: tls_error says what is wrong with TLS; errors of the transport pass through.
#pragma once

#include <weir/io/byte_stream.hpp>
#include <weir/io/detail/tls_session.hpp>
#include <weir/io/result.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/io/tls_error.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weir::tls {

template <io::byte_stream Stream>
class stream {
    using session = detail::session<Stream>;

public:
    explicit stream(std::shared_ptr<session> established) noexcept
        : session_(std::move(established)) {}
    stream(stream&&) noexcept = default;
    stream& operator=(stream&& other) noexcept {
        if (this != &other) {
            close();
            session_ = std::move(other.session_);
        }
        return *this;
    }
    ~stream() { close(); }

    task<std::size_t> read(io::bytes into) { return session::read(session_, into); }
    task<> write(io::const_bytes data WEIR_REFERRED_TO) {
        return session::write(session_, {data, {}});
    }
    // Small parts share records.
    task<> write(std::span<const io::const_bytes> parts) {
        return session::write(session_, {{}, parts});
    }
    // With errors of the transport as values, which are exceptions inside; weir/io/result.hpp.
    task<io::result<std::size_t>> read(io::bytes into, io::as_result_form) {
        return io::detail::caught(read(into), "read");
    }
    task<io::result<>> write(io::const_bytes data WEIR_REFERRED_TO, io::as_result_form) {
        return io::detail::caught(write(data), "write");
    }
    task<io::result<>> write(std::span<const io::const_bytes> parts, io::as_result_form) {
        return io::detail::caught(write(parts), "write");
    }
    task<> close_write() { return session::end_writing(session_); }
    void close() noexcept {
        if (session_ != nullptr) {
            session_->close();
        }
    }

    // Of the transport: an end there is the end of the connection for TLS too.
    io::closure peer_closure() noexcept
        requires io::reports_closure<Stream>
    {
        return transport().peer_closure();
    }
    auto until_peer_closes()
        requires io::reports_closure<Stream>
    {
        return transport().until_peer_closes();
    }

    // Was the handshake shortened by an earlier session?
    bool was_resumed() const noexcept { return session_->machine.agreed().was_resumed(); }
    // The application protocol agreed on; empty if none.
    std::string_view alpn() const noexcept { return session_->machine.agreed().alpn(); }
    std::string_view version() const noexcept {
        return session_->machine.agreed().version();
    }  // "TLSv1.3"
    std::string_view cipher() const noexcept { return session_->machine.agreed().cipher(); }
    // Of the peer's certificate, as in 'CN=example.org'; empty if it sent none.
    std::string peer_subject() const { return session_->machine.agreed().peer_subject(); }
    // The host that the client wants; empty if it sent none.
    std::string_view server_name() const noexcept {
        return session_->machine.agreed().server_name();
    }

    Stream& transport() noexcept { return session_->transport; }

private:
    std::shared_ptr<session> session_;
};

namespace detail {

template <class Stream>
task<stream<Stream>> establish(std::shared_ptr<session<Stream>> made) {
    cancel_scope limit(made->machine.handshake_timeout());
    const bool in_time = co_await limit.run(made->handshake());
    if (!in_time) {
        throw timed_out(made->machine.attempt() + ": not done within the handshake_timeout");
    }
    co_return stream<Stream>(std::move(made));
}

// The client's address, if the transport has one.
template <class Stream>
std::string client_name(const Stream& transport) {
    if constexpr (requires { transport.remote_address().text(); }) {
        try {
            if (std::string text = transport.remote_address().text(); !text.empty()) {
                return text;
            }
        } catch (const std::exception&) {
            // the client is gone: the handshake will report it
        }
    }
    return "a client";
}

}  // namespace detail

// co_await connect(std::move(socket), context, host): performs the handshake of a client and
// returns the stream. The host is a name, which is sent to the server, or an IP address; the
// certificate must be for it. If the handshake is stopped, fails or takes too long, the transport
// is closed. Throws tls_error, timed_out, and errors of the transport; invalid_argument, at once,
// for invalid arguments.
template <io::byte_stream Stream>
task<stream<Stream>> connect(Stream transport, const context& with, std::string_view host,
                             const connect_options& options = {}) {
    return detail::establish(
        std::make_shared<detail::session<Stream>>(std::move(transport), with, host, options));
}

// co_await accept(std::move(socket), context): the same for a server.
template <io::byte_stream Stream>
task<stream<Stream>> accept(Stream transport, const context& with,
                            const accept_options& options = {}) {
    std::string client = detail::client_name(transport);
    return detail::establish(std::make_shared<detail::session<Stream>>(std::move(transport), with,
                                                                       std::move(client), options));
}

}  // namespace weir::tls
