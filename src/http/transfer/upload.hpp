// SPDX-License-Identifier: MIT
// The body of a request that a function writes while it is sent.
#pragma once

#include <weir/http/body.hpp>
#include <weir/io/buffer.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace weir::http::detail {

class transfer;

// The stream's function fills a small buffer and libcurl empties it; each waits for the other.
class upload final : public body_writer {
public:
    explicit upload(body::streamed& source) noexcept : source_(source), remaining_(source.size) {}
    upload(const upload&) = delete;
    upload& operator=(const upload&) = delete;

    // Runs the function to its end. An exception from it ends the transfer, which throws it.
    task<> run(transfer& carrier);
    // libcurl has taken bytes that cannot be produced again.
    bool has_begun() const noexcept { return has_begun_; }
    // The function has been called, which happens once.
    bool was_called() const noexcept { return carrier_ != nullptr; }
    // libcurl has taken all bytes.
    bool is_taken() const noexcept { return has_ended_ && taken_ == buffer_.size(); }
    std::optional<std::uint64_t> size() const noexcept { return source_.size; }

    task<> write(io::const_bytes data) override;
    task<> flush() override;

    // For libcurl's callback: the number of bytes, 0 at the end, or CURL_READFUNC_PAUSE.
    std::size_t take(char* into, std::size_t size) noexcept;

private:
    static constexpr std::size_t capacity = 64 * 1024;

    body::streamed& source_;
    transfer* carrier_ = nullptr;
    std::optional<std::uint64_t> remaining_;
    std::string buffer_;
    std::size_t taken_ = 0;
    event has_room_;
    bool has_begun_ = false;
    bool has_ended_ = false;
};

}  // namespace weir::http::detail
