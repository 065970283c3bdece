// SPDX-License-Identifier: MIT
// A response is a transfer whose head has come. Where the whole body is there and plain, text()
// hands over the buffer that libcurl's callback filled.

#include "http/transfer/transfer.hpp"

#include <weir/http/client_error.hpp>
#include <weir/http/client_response.hpp>
#include <weir/io/error.hpp>

#include <algorithm>

namespace weir::http {

http::status client_response::status() const noexcept {
    return from_->status();
}
const http::headers& client_response::headers() const noexcept {
    return from_->fields();
}
int client_response::version() const noexcept {
    return from_->version();
}
const http::url& client_response::url() const noexcept {
    return from_->url();
}
int client_response::redirects() const noexcept {
    return from_->redirects();
}

void client_response::raise_for_status() const {
    if (is_error(status())) {
        std::string text(from_->what());
        text += ": " + std::to_string(number_of(status()));
        if (const std::string_view reason = reason_of(status()); !reason.empty()) {
            text += ' ';
            text += reason;
        }
        throw status_error(status(), text);
    }
}

detail::body_read client_response::read(io::bytes into) noexcept {
    return {from_.get(), into};
}

task<std::string> client_response::text(std::size_t limit) {
    std::string whole;
    if (from_->take_whole(whole, limit)) {
        co_return whole;
    }
    constexpr std::size_t first_piece = 16 * 1024;
    std::size_t size = 0;
    for (;;) {
        if (size == whole.size()) {
            // One byte more than allowed tells whether there is more than allowed.
            const std::size_t most = limit < whole.max_size() ? limit + 1 : limit;
            whole.resize(std::min(most, std::max(first_piece, 2 * size)));
        }
        const std::size_t count = co_await read(io::bytes(whole).after(size));
        if (count == 0) {
            break;
        }
        size += count;
        if (size > limit) {
            throw limit_exceeded(std::string(from_->what()) + ": the body has more than " +
                                 std::to_string(limit) + " bytes");
        }
    }
    whole.resize(size);
    co_return whole;
}

task<> client_response::discard(std::size_t worth) {
    co_await from_->drop_body(worth);
}

}  // namespace weir::http
