// SPDX-License-Identifier: MIT
// libcurl asks for bytes; when there are none it is paused, and told to go on when the function has
// written some. The function waits while the buffer is full.

#include "http/transfer/upload.hpp"

#include "http/transfer/transfer.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <cstring>

namespace weir::http::detail {

task<> upload::run(transfer& of) {
    of_ = &of;
    try {
        co_await source_.write(*this);
        if (left_.value_or(0) > 0) {
            throw invalid_state(std::string(of.what()) + ": the body's stream ended " +
                                std::to_string(*left_) + " bytes before its size");
        }
    } catch (...) {
        of.abandon(std::current_exception());
    }
    has_ended_ = true;
    of.upload_has_more();
}

task<> upload::write(io::const_bytes data) {
    if (left_.has_value()) {
        if (data.size() > *left_) {
            throw invalid_state(std::string(of_->what()) +
                                ": the body's stream writes more than its size");
        }
        *left_ -= data.size();
    }
    while (!data.empty()) {
        while (buffer_.size() - taken_ >= enough) {
            has_room_.clear();
            co_await has_room_.wait();
        }
        buffer_.erase(0, std::exchange(taken_, 0));
        const std::size_t count = std::min(data.size(), enough - buffer_.size());
        buffer_.append(data.first(count).text());
        data = data.after(count);
        of_->upload_has_more();
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
    if (buffer_.size() - taken_ < enough / 2 && !has_room_.is_set()) {
        has_room_.set();
    }
    return count;
}

}  // namespace weir::http::detail
