// SPDX-License-Identifier: MIT
// The body of a message: a text, or a stream that is produced while it is sent.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/io/address.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/io/buffer.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace weir::tcp {
class session;
}

namespace weir::http {

// The destination of a streamed body.
class body_writer {
public:
    // Sends data. Small pieces are collected. Waits while the client does not keep up, and throws
    // when it has disconnected. If a write is stopped while it waits, all later ones throw
    // io_error.
    virtual task<> write(io::const_bytes data) = 0;
    // Sends what was collected: for events that the client must see now.
    virtual task<> flush() = 0;

protected:
    ~body_writer() = default;
};

// The source of a body: read() gives at least one byte, or 0 at its end.
class body_reader {
public:
    virtual task<std::size_t> read(io::bytes into) = 0;
    // A larger body is refused with 413.
    virtual void limit(std::uint64_t bytes) = 0;
    // See request::is_client_connected().
    virtual bool is_client_connected() noexcept { return true; }

protected:
    ~body_reader() = default;
};

using stream_function = weir::detail::unique_function<task<>(body_writer&)>;

// A connection that has switched to another protocol.
struct upgraded {
    io::any_stream stream;
    std::string received;  // bytes that were received after the request
    io::address peer;
    tcp::session* session = nullptr;  // never null; for idle() and is_draining()
};
using upgrade_function = weir::detail::unique_function<task<>(upgraded)>;

class body {
public:
    struct streamed {
        std::optional<std::uint64_t> size;  // empty: unknown
        stream_function write;
    };

    body() noexcept = default;
    body(std::string text) noexcept : held_(std::move(text)) {}  // NOLINT: a text is a body
    body(const char* text) : held_(std::string(text)) {}         // NOLINT: the same
    static body fixed(std::string_view forever) { return body(held(forever)); }
    static body shared(std::shared_ptr<const std::string> text) {
        return body(held(std::move(text)));
    }
    static body stream(stream_function write, std::optional<std::uint64_t> size = {}) {
        return body(held(streamed{size, std::move(write)}));
    }

    // In bytes; empty for a stream of unknown size.
    std::optional<std::uint64_t> size() const noexcept;
    bool empty() const noexcept { return size() == 0U; }
    bool is_stream() const noexcept { return std::holds_alternative<streamed>(held_); }
    // Empty for a stream. Valid as long as the body.
    std::string_view text() const noexcept;
    streamed* as_stream() noexcept { return std::get_if<streamed>(&held_); }

private:
    using held = std::variant<std::monostate, std::string, std::string_view,
                              std::shared_ptr<const std::string>, streamed>;
    explicit body(held given) noexcept : held_(std::move(given)) {}
    held held_;
};

}  // namespace weir::http
