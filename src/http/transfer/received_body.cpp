// SPDX-License-Identifier: MIT
// The reading of an answer's body. libcurl's callback appends to a buffer until there is enough in
// it; the reader takes from it, through the decoder if the body is compressed, and has libcurl go
// on when it is half empty.

#include "http/client/client_core.hpp"
#include "http/transfer/transfer.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <algorithm>
#include <cstring>

namespace weir::http::detail {

std::size_t transfer::take(io::bytes into) {
    std::size_t count = 0;
    if (decoder_.is_active()) {
        count = take_decoded(into);
    } else {
        count = std::min(into.size(), body_.size() - taken_);
        std::memcpy(into.data(), body_.data() + taken_, count);
        taken_ += count;
    }
    if (taken_ == body_.size()) {
        body_.clear();
        taken_ = 0;
    }
    if (body_.size() - taken_ <= enough / 2) {
        resume_receiving();
    }
    return count;
}

std::size_t transfer::take_decoded(io::bytes into) {
    try {
        for (;;) {
            const io::const_bytes from = io::const_bytes(std::string_view(body_)).after(taken_);
            const bool is_last = has_ended_ && error_ == nullptr;
            const decompressor::step did = decoder_.run(from, into, is_last);
            taken_ += did.used;
            if (did.made > 0 || did.used == 0) {
                return did.made;
            }
        }
    } catch (const limit_exceeded& error) {
        abandon(std::make_exception_ptr(limit_exceeded(what() + ": " + error.what())));
    } catch (const std::runtime_error& error) {
        abandon(std::make_exception_ptr(
            transport_error(transport_error::kind::protocol, what() + ": " + error.what())));
    }
    body_.clear();
    taken_ = 0;
    decoder_.reset();
    rethrow();
    return 0;
}

bool transfer::take_whole(std::string& into, std::size_t limit) {
    if (!has_ended_ || error_ != nullptr || decoder_.is_active()) {
        return false;
    }
    if (body_.size() - taken_ > limit) {
        return false;
    }
    if (taken_ > 0) {
        body_.erase(0, std::exchange(taken_, 0));
    }
    into = std::move(body_);
    body_.clear();
    return true;
}

body_read::~body_read() {
    if (from_ != nullptr && from_->reader_ == this) {
        from_->reader_ = nullptr;
    }
}

bool body_read::advance() noexcept {
    try {
        count_ = from_->take(into_);
        if (count_ > 0 || into_.empty()) {
            return true;
        }
        if (from_->has_failed()) {
            from_->rethrow();
        }
        return from_->has_ended();
    } catch (...) {
        error_ = std::current_exception();
        return true;
    }
}

bool body_read::ready() noexcept {
    if (from_ == nullptr || from_->reader_ != nullptr) {
        error_ = std::make_exception_ptr(
            invalid_state(from_ == nullptr ? "client_response::read: the response was moved from"
                                           : "client_response::read: another task reads already"));
        return true;
    }
    return advance();
}

bool body_read::start() noexcept {
    from_->reader_ = this;
    return true;
}

bool body_read::cancel() noexcept {
    from_->reader_ = nullptr;
    return true;
}

// What was taken is the reader's, even if a stop comes now.
void body_read::more() noexcept {
    if (advance()) {
        from_->reader_ = nullptr;
        complete_and_keep();
    }
}

std::size_t body_read::resume() {
    if (error_ != nullptr) {
        std::rethrow_exception(error_);
    }
    return count_;
}

void transfer_release::operator()(transfer* gone) const noexcept {
    const std::shared_ptr<client_core> core = gone->shared_core();
    core->take_back(*gone);
}

}  // namespace weir::http::detail
