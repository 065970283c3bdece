// SPDX-License-Identifier: MIT
// What is behind the head of a message: text that is there already, or a stream that is made while
// it is sent.
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

// Where a streamed body is written to.
class body_writer {
public:
    // Hands data over. Small pieces are gathered; waits while the client does not keep up, and
    // throws when it has gone. Stopped while it waits, it was the last: an io_error for what
    // follows.
    virtual task<> write(io::const_bytes data) = 0;
    // Sends what was gathered: for events that a client is to see now.
    virtual task<> flush() = 0;

protected:
    ~body_writer() = default;
};

// Where a body is read from: at least a byte, or 0 at its end.
class body_reader {
public:
    virtual task<std::size_t> read(io::bytes into) = 0;
    // More than so many bytes are a problem with status 413.
    virtual void limit(std::uint64_t bytes) = 0;

protected:
    ~body_reader() = default;
};

using stream_function = weir::detail::unique_function<task<>(body_writer&)>;

// A connection that speaks another protocol from now on.
struct upgraded {
    io::any_stream stream;
    std::string received;  // what came behind the request already
    io::address peer;
    tcp::session* session = nullptr;  // never null; for idle() and is_draining()
};
using upgrade_function = weir::detail::unique_function<task<>(upgraded)>;

class body {
public:
    struct streamed {
        std::optional<std::uint64_t> size;  // if it is known
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

    // In bytes; none if it is a stream of unknown size.
    std::optional<std::uint64_t> size() const noexcept;
    bool empty() const noexcept { return size() == 0U; }
    bool is_stream() const noexcept { return std::holds_alternative<streamed>(held_); }
    // Unless it is a stream: the text, valid as long as the body.
    std::string_view text() const noexcept;
    streamed* as_stream() noexcept { return std::get_if<streamed>(&held_); }

private:
    using held = std::variant<std::monostate, std::string, std::string_view,
                              std::shared_ptr<const std::string>, streamed>;
    explicit body(held given) noexcept : held_(std::move(given)) {}
    held held_;
};

}  // namespace weir::http
