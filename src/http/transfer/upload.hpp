// SPDX-License-Identifier: MIT
// The body of a request that is made while it is sent.
#pragma once

#include <weir/http/body.hpp>
#include <weir/io/buffer.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace weir::http::detail {

class transfer;

// The stream's function fills a small buffer, libcurl empties it; each waits for the other.
class upload final : public body_writer {
public:
    explicit upload(body::streamed& source) noexcept : source_(source), left_(source.size) {}
    upload(const upload&) = delete;
    upload& operator=(const upload&) = delete;

    // The function, to its end. What it throws ends the transfer, which throws it then.
    task<> run(transfer& of);
    // Some of it is libcurl's, and cannot be had again.
    bool has_begun() const noexcept { return has_begun_; }
    // The function has been called, which happens once.
    bool was_called() const noexcept { return of_ != nullptr; }
    // All of it is libcurl's now.
    bool is_taken() const noexcept { return has_ended_ && taken_ == buffer_.size(); }
    std::optional<std::uint64_t> size() const noexcept { return source_.size; }

    task<> write(io::const_bytes data) override;
    task<> flush() override;

    // For libcurl's callback: how many bytes, 0 at the end, or CURL_READFUNC_PAUSE or _ABORT.
    std::size_t take(char* into, std::size_t size) noexcept;

private:
    static constexpr std::size_t enough = 64 * 1024;

    body::streamed& source_;
    transfer* of_ = nullptr;
    std::optional<std::uint64_t> left_;
    std::string buffer_;
    std::size_t taken_ = 0;
    event has_room_;
    bool has_begun_ = false;
    bool has_ended_ = false;
};

}  // namespace weir::http::detail
