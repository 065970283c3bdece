// SPDX-License-Identifier: MIT
// Shared by the tests of TLS: certificates, and a pipe in memory that serves as the transport.
#pragma once

#include <weir/io/tls.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/testing/testing.hpp>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace tls_tests {

using namespace std::chrono_literals;
using weir::task;
using weir::tls_error;
using weir::tls_failure;
namespace io = weir::io;
namespace tls = weir::tls;

// One direction of a connection in memory.
struct pipe {
    std::string bytes;
    weir::event readable;  // set when something may have changed; each has one waiter
    weir::event writable;
    bool is_ended = false;   // no more data will arrive
    bool is_closed = false;  // the reader has gone
    bool is_left = false;    // the writer has
    std::size_t passed = 0;  // bytes written so far

    void notify() {
        readable.set();
        writable.set();
    }
};

// How a transport behaves: at most so many bytes in a piece, drawn anew each time; so many on the
// way.
struct manner {
    std::size_t most_read = 1 << 20;
    std::size_t most_written = 1 << 20;
    std::size_t capacity = 1 << 20;
    unsigned seed = 0;  // not 0: pieces are random, up to the limits
    // May change, drop or add to the written bytes.
    std::function<void(std::string&)> alter{};
};

// A byte_stream. Yields now and then where it would not have to wait.
class memory_stream {
public:
    memory_stream(std::shared_ptr<pipe> in, std::shared_ptr<pipe> out, manner how)
        : in_(std::move(in)), out_(std::move(out)), how_(std::move(how)), random_(how_.seed) {}
    memory_stream(memory_stream&&) = default;
    memory_stream& operator=(memory_stream&&) = default;
    ~memory_stream() { close(); }

    task<std::size_t> read(io::bytes into) {
        if (into.empty()) {
            co_return 0;
        }
        const std::shared_ptr<pipe> in = in_;
        const std::size_t most = piece(how_.most_read);
        while (in->bytes.empty() && !in->is_ended && !in->is_closed) {
            in->readable.clear();
            co_await in->readable.wait();
        }
        if (in->is_closed) {
            throw weir::io_error(ECANCELED, "read");
        }
        const std::size_t count = std::min({most, into.size(), in->bytes.size()});
        std::memcpy(into.data(), in->bytes.data(), count);
        in->bytes.erase(0, count);
        in->notify();
        co_return count;
    }
    task<> write(io::const_bytes data) {
        const std::shared_ptr<pipe> out = out_;
        std::string text(data.text());
        if (how_.alter) {
            how_.alter(text);
        }
        while (!text.empty()) {
            const std::size_t most = piece(how_.most_written);
            while (out->bytes.size() >= how_.capacity && !out->is_closed && !out->is_left) {
                out->writable.clear();
                co_await out->writable.wait();
            }
            if (out->is_closed || out->is_left) {
                throw weir::io_error(out->is_left ? ECANCELED : EPIPE, "write");
            }
            const std::size_t count =
                std::min({most, text.size(), how_.capacity - out->bytes.size()});
            out->bytes.append(text, 0, count);
            out->passed += count;
            text.erase(0, count);
            out->notify();
            if (how_.seed != 0) {
                co_await weir::yield();
            }
        }
    }
    task<> write(std::span<const io::const_bytes> parts) {
        std::string all;
        for (const io::const_bytes& each : parts) {
            all += each.text();
        }
        co_await write(io::const_bytes(all));
    }
    task<> close_write() {
        out_->is_ended = true;
        out_->notify();
        co_return;
    }
    void close() noexcept {
        if (in_ != nullptr) {
            in_->is_closed = true;
            in_->notify();
            out_->is_ended = out_->is_left = true;  // data in flight still arrives
            out_->notify();
        }
    }

private:
    std::size_t piece(std::size_t most) {
        return how_.seed == 0 ? most : std::uniform_int_distribution<std::size_t>(1, most)(random_);
    }

    std::shared_ptr<pipe> in_;
    std::shared_ptr<pipe> out_;
    manner how_;
    std::mt19937 random_;
};
static_assert(io::byte_stream<memory_stream>);
static_assert(io::byte_stream<tls::stream<memory_stream>>);

using secure_stream = tls::stream<memory_stream>;

struct two_ends {
    memory_stream client;
    memory_stream server;
};
inline two_ends connected(const manner& of_client = {}, const manner& of_server = {}) {
    auto up = std::make_shared<pipe>();
    auto down = std::make_shared<pipe>();
    return {memory_stream(down, up, of_client), memory_stream(up, down, of_server)};
}

// Made once for the whole program.
struct identities {
    tls::certificate_authority authority{"Weir Test Authority"};
    tls::certificate_authority stranger{"Nobody We Know"};
    tls::certificate good = authority.issue({.names = "good.example,*.wild.example"});
    tls::certificate address = authority.issue({.names = "127.0.0.1,::1"});
    tls::certificate expired =
        authority.issue({.names = "good.example", .begins = -48h, .lasts = 24h});
    tls::certificate future = authority.issue({.names = "good.example", .begins = 24h});
    tls::certificate self_signed = tls::make_self_signed({.names = "good.example"});
    tls::certificate unknown = stranger.issue({.names = "good.example"});
    tls::certificate user = authority.issue({.names = "alice"});

    // Keeps no sessions: one test must not affect the next.
    tls::context client =
        tls::context::client({.ca_pem = authority.certificate_pem(), .cached_sessions = 0});
    tls::context server = serving(good);

    static tls::context serving(const tls::certificate& with) {
        return tls::context::server(
            {.certificate_pem = with.certificate_pem, .key_pem = with.key_pem});
    }
};
inline identities& ids() {
    static identities made;
    return made;
}

struct both_streams {
    secure_stream client;
    secure_stream server;
};

// A handshake over the transport, both sides at once. The client's error has precedence.
inline task<both_streams> shake_hands(tls::context client, tls::context server, two_ends ends,
                                      std::string host = "good.example",
                                      tls::connect_options how = {},
                                      tls::accept_options accepting = {}) {
    auto accepted = weir::spawn(tls::accept(std::move(ends.server), server, accepting));
    auto connected = co_await weir::settle(tls::connect(std::move(ends.client), client, host, how));
    auto answered = co_await weir::settle(std::move(accepted));
    secure_stream near = std::move(connected).value();
    secure_stream far = std::move(answered).value();
    both_streams made{std::move(near), std::move(far)};
    co_return made;
}
inline task<both_streams> shake_hands(const manner& of_client = {}, const manner& of_server = {}) {
    return shake_hands(ids().client, ids().server, connected(of_client, of_server));
}

// How each side ended: empty for success, else 'kind: message'.
struct endings {
    std::string client;
    std::string server;
};
inline std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const tls_error& known) {
        return std::string(weir::to_string(known.kind())) + ": " + known.what();
    } catch (const std::exception& other) {
        return other.what();
    }
}
template <class Outcome>
std::string text_of_outcome(const Outcome& how) {
    return how.has_value() ? "" : text_of(how.error());
}
inline task<endings> shake_hands_badly(tls::context client, tls::context server,
                                       std::string host = "good.example",
                                       tls::connect_options how = {}) {
    two_ends ends = connected();
    auto accepted = weir::spawn(tls::accept(std::move(ends.server), server));
    const auto connected =
        co_await weir::settle(tls::connect(std::move(ends.client), client, host, how));
    const auto answered = co_await weir::settle(std::move(accepted));
    endings result;
    result.client = text_of_outcome(connected);
    result.server = text_of_outcome(answered);
    co_return result;
}

// Reads to the end, in buffers of the given size.
template <class Stream>
task<std::string> read_all(Stream& from, std::size_t size = 4096) {
    std::string all;
    std::string buffer(size, '\0');
    for (;;) {
        const std::size_t count = co_await from.read(buffer);
        if (count == 0) {
            break;
        }
        all.append(buffer, 0, count);
    }
    co_return all;
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}
#define EXPECT_SAYS(text, part) EXPECT_TRUE(::tls_tests::contains(text, part)) << text

}  // namespace tls_tests
