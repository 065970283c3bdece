// SPDX-License-Identifier: MIT
// libcurl's callback appends to the buffer, the reader takes from its front, through the decoder if
// the body is compressed. Bytes that have been taken are erased by the next append, or when all
// have been taken.

#include "http/transfer/received_body.hpp"

#include <weir/http/client_error.hpp>
#include <weir/io/error.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace weir::http::detail {

void received_body::append(std::string_view data) {
    if (taken_ > 0) {
        buffer_.erase(0, std::exchange(taken_, 0));
    }
    buffer_.append(data);
}

std::size_t received_body::take(io::bytes into, bool is_last) {
    std::size_t count = 0;
    if (decoder_.is_active()) {
        count = take_decoded(into, is_last);
    } else {
        count = std::min(into.size(), unread());
        std::memcpy(into.data(), buffer_.data() + taken_, count);
        taken_ += count;
    }
    if (unread() == 0) {
        clear();
    }
    return count;
}

std::size_t received_body::take_decoded(io::bytes into, bool is_last) {
    try {
        for (;;) {
            const io::const_bytes from = io::const_bytes(std::string_view(buffer_)).after(taken_);
            const decompressor::step step = decoder_.run(from, into, is_last);
            taken_ += step.used;
            if (step.produced > 0 || step.used == 0) {
                return step.produced;
            }
        }
    } catch (const std::runtime_error& error) {
        clear();
        decoder_.reset();
        if (dynamic_cast<const limit_exceeded*>(&error) != nullptr) {
            throw;
        }
        throw transport_error(transport_error::kind::protocol, error.what());
    }
}

bool received_body::take_all(std::string& into, std::size_t limit) {
    if (decoder_.is_active() || unread() > limit) {
        return false;
    }
    if (taken_ > 0) {
        buffer_.erase(0, std::exchange(taken_, 0));
    }
    into = std::move(buffer_);
    buffer_.clear();
    return true;
}

void received_body::begin_dropping(std::size_t limit) noexcept {
    is_dropping_ = true;
    droppable_ = limit;
    clear();
}

bool received_body::drop(std::size_t count) noexcept {
    if (count > droppable_) {
        return false;
    }
    droppable_ -= count;
    return true;
}

void received_body::reset() noexcept {
    constexpr std::size_t max_kept = 64 * 1024;
    if (buffer_.capacity() > max_kept) {
        std::string().swap(buffer_);
    }
    clear();
    decoder_.reset();
    droppable_ = 0;
    is_dropping_ = false;
}

void received_body::clear() noexcept {
    buffer_.clear();
    taken_ = 0;
}

}  // namespace weir::http::detail
