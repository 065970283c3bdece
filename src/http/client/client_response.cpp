// SPDX-License-Identifier: MIT
// A response is a transfer whose head has been received. If the text body is complete and not
// compressed, text() moves out the buffer that libcurl's callback has filled.

#include "http/client/client_core.hpp"
#include "http/transfer/transfer.hpp"

#include <weir/error.hpp>
#include <weir/http/client_error.hpp>
#include <weir/http/client_response.hpp>
#include <weir/io/error.hpp>

#include <algorithm>

namespace weir::http {

namespace detail {

body_read::~body_read() {
    if (transfer_ != nullptr && transfer_->reader() == this) {
        transfer_->set_reader(nullptr);
    }
}

bool body_read::advance() noexcept {
    try {
        count_ = transfer_->take(into_);
        if (count_ > 0 || into_.empty()) {
            return true;
        }
        transfer_->rethrow();
        return transfer_->has_ended();
    } catch (...) {
        error_ = std::current_exception();
        return true;
    }
}

bool body_read::ready() noexcept {
    if (transfer_ == nullptr || transfer_->reader() != nullptr) {
        error_ = std::make_exception_ptr(invalid_state(
            transfer_ == nullptr ? "client_response::read: the response was moved from"
                                 : "client_response::read: another task is reading already"));
        return true;
    }
    return advance();
}

bool body_read::start() noexcept {
    transfer_->set_reader(this);
    return true;
}

bool body_read::cancel() noexcept {
    transfer_->set_reader(nullptr);
    return true;
}

// Bytes that have been taken belong to the reader, even if a stop comes now.
void body_read::check() noexcept {
    if (advance()) {
        transfer_->set_reader(nullptr);
        complete_and_keep();
    }
}

std::size_t body_read::resume() {
    if (error_ != nullptr) {
        std::rethrow_exception(error_);
    }
    return count_;
}

void transfer_release::operator()(transfer* released) const noexcept {
    const std::shared_ptr<client_core> core = released->core();
    core->take_back(*released);
}

}  // namespace detail

http::status client_response::status() const noexcept {
    return transfer_->head().status();
}
const http::headers& client_response::headers() const noexcept {
    return transfer_->head().fields();
}
int client_response::version() const noexcept {
    return transfer_->head().version();
}
const http::url& client_response::url() const noexcept {
    return transfer_->url();
}
int client_response::redirects() const noexcept {
    return transfer_->redirects();
}

void client_response::raise_for_status() const {
    if (is_error(status())) {
        std::string text = transfer_->description();
        text += ": " + std::to_string(number_of(status()));
        if (const std::string_view reason = reason_of(status()); !reason.empty()) {
            text += ' ';
            text += reason;
        }
        throw status_error(status(), text);
    }
}

detail::body_read client_response::read(io::bytes into) noexcept {
    return {transfer_.get(), into};
}

task<std::string> client_response::text(std::size_t limit) {
    std::string text;
    if (transfer_->take_all(text, limit)) {
        co_return text;
    }
    constexpr std::size_t initial_size = 16 * 1024;
    std::size_t size = 0;
    for (;;) {
        if (size == text.size()) {
            // One byte more than the limit shows whether the body exceeds it.
            const std::size_t most = limit < text.max_size() ? limit + 1 : limit;
            text.resize(std::min(most, std::max(initial_size, 2 * size)));
        }
        const std::size_t count = co_await read(io::bytes(text).after(size));
        if (count == 0) {
            break;
        }
        size += count;
        if (size > limit) {
            throw limit_exceeded(transfer_->description() + ": the body has more than " +
                                 std::to_string(limit) + " bytes");
        }
    }
    text.resize(size);
    co_return text;
}

task<> client_response::discard(std::size_t limit) {
    co_await transfer_->drop_body(limit);
}

}  // namespace weir::http
