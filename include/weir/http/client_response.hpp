// SPDX-License-Identifier: MIT
// The response to a client's request. The head has been received; the body is received as it is
// read.
//
//     auto response = co_await client.get("http://127.0.0.1:8080/big");
//     response.raise_for_status();
//     std::array<char, 4096> piece;
//     for (std::size_t count = 0; (count = co_await response.read(piece)) > 0;) { ... }
//
// A body that is not read stops the server from sending: the client holds some 100 KiB, no more.
// Destroying the response before its end closes the connection; read it or discard() it to keep the
// connection.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/status.hpp>
#include <weir/http/url.hpp>
#include <weir/io/buffer.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

namespace detail {

class transfer;

class WEIR_MUST_AWAIT body_read final : public operation {
public:
    body_read(transfer* source, io::bytes into) noexcept : transfer_(source), into_(into) {}
    body_read(body_read&& unawaited) noexcept
        : transfer_(unawaited.transfer_), into_(unawaited.into_) {}
    ~body_read();

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "http.read"; }
    std::size_t resume();

    // The transfer has received more, or has ended.
    void check() noexcept;

private:
    // True if there is a result.
    bool advance() noexcept;

    transfer* transfer_;
    io::bytes into_;
    std::size_t count_ = 0;
    std::exception_ptr error_;
};

struct transfer_release {
    void operator()(transfer* released) const noexcept;
};
using transfer_owner = std::unique_ptr<transfer, transfer_release>;

}  // namespace detail

class client_response {
public:
    static constexpr std::size_t default_text_limit = 16 * 1024 * 1024;

    client_response(client_response&&) noexcept = default;
    client_response& operator=(client_response&&) noexcept = default;

    http::status status() const noexcept;
    bool is_success() const noexcept { return http::is_success(status()); }
    const http::headers& headers() const noexcept;
    std::string_view header(std::string_view name) const noexcept { return headers().get(name); }
    // 10, 11 or 20.
    int version() const noexcept;
    // The URL it came from, after redirects.
    const http::url& url() const noexcept;
    // The number of redirects that were followed.
    int redirects() const noexcept;
    // Throws status_error if the status is 400 or above.
    void raise_for_status() const;

    // co_await read(into): at least one byte of the decompressed body; 0 at its end. A cancelled
    // read has taken nothing. Throws transport_error if the body is incomplete, request_timed_out,
    // and limit_exceeded.
    detail::body_read read(io::bytes into) noexcept;
    // The rest of the body. Throws limit_exceeded if it is more than `limit` bytes.
    task<std::string> text(std::size_t limit = default_text_limit);
    // Drops the rest of the body, so that the connection can be used again. If it is more than
    // `limit` bytes, the connection is closed instead.
    task<> discard(std::size_t limit = 256 * 1024);

    // For the client.
    explicit client_response(detail::transfer_owner source) noexcept
        : transfer_(std::move(source)) {}

private:
    detail::transfer_owner transfer_;
};

}  // namespace weir::http
