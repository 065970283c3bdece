// SPDX-License-Identifier: MIT
// libcurl asks for bytes. If there are none, libcurl is paused and resumed when the function has
// written some. The function waits while the buffer is full.

#include "http/transfer/upload.hpp"

#include "http/transfer/transfer.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir::http::detail {

task<> upload::run(transfer& carrier) {
    carrier_ = &carrier;
    try {
        co_await source_.write(*this);
        if (remaining_.value_or(0) > 0) {
            throw invalid_state(carrier.description() + ": the body's stream ended " +
                                std::to_string(*remaining_) + " bytes before its size");
        }
    } catch (...) {
        carrier.abandon(std::current_exception());
    }
    has_ended_ = true;
    carrier.resume_sending();
}

task<> upload::write(io::const_bytes data) {
    if (remaining_.has_value()) {
        if (data.size() > *remaining_) {
            throw invalid_state(carrier_->description() +
                                ": the body's stream writes more than its size");
        }
        *remaining_ -= data.size();
    }
    while (!data.empty()) {
        while (buffer_.size() - taken_ >= capacity) {
            has_room_.clear();
            co_await has_room_.wait();
        }
        buffer_.erase(0, std::exchange(taken_, 0));
        const std::size_t count = std::min(data.size(), capacity - buffer_.size());
        buffer_.append(data.first(count).text());
        data = data.after(count);
        carrier_->resume_sending();
    }
}

task<> upload::flush() {
    while (taken_ < buffer_.size()) {
        has_room_.clear();
        co_await has_room_.wait();
    }
}

std::size_t upload::take(char* into, std::size_t size) noexcept {
    const std::size_t count = std::min(size, buffer_.size() - taken_);
    if (count == 0) {
        return has_ended_ ? 0 : CURL_READFUNC_PAUSE;
    }
    std::memcpy(into, buffer_.data() + taken_, count);
    taken_ += count;
    has_begun_ = true;
    if (buffer_.size() - taken_ < capacity / 2 && !has_room_.is_set()) {
        has_room_.set();
    }
    return count;
}

}  // namespace weir::http::detail
