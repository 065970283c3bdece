// SPDX-License-Identifier: MIT
// The encrypted bytes of a TLS connection on their way between OpenSSL and the transport.
#pragma once

#include <weir/io/buffer.hpp>

#include <cstddef>
#include <exception>
#include <vector>

struct ssl_st;

namespace weir::tls::detail {

// OpenSSL reads from the input and writes to the output through a BIO; neither ever waits.
class tls_buffers {
public:
    tls_buffers() noexcept = default;
    tls_buffers(const tls_buffers&) = delete;
    tls_buffers& operator=(const tls_buffers&) = delete;

    // Makes these buffers the transport of an SSL object. Throws std::bad_alloc.
    void attach_to(ssl_st& ssl);

    // Where to read from the transport into.
    io::bytes input_room();
    // So many bytes were read into that room; 0 is the end of the transport. Returns those bytes.
    io::const_bytes received(std::size_t count) noexcept;
    bool has_all_input() const noexcept { return has_all_input_; }

    // Bytes to be sent to the transport. Taking swaps, so that output can be added while it is
    // sent.
    std::size_t output_size() const noexcept { return output_.size(); }
    void take_output(std::vector<std::byte>& into) noexcept {
        into.clear();
        into.swap(output_);
    }

    // The exception that OpenSSL's last write ended with; null if there was none.
    const std::exception_ptr& failure() const noexcept { return failure_; }

private:
    friend struct buffer_bio;

    std::vector<std::byte> input_;
    std::size_t input_begin_ = 0;
    std::size_t input_end_ = 0;
    bool has_all_input_ = false;
    std::vector<std::byte> output_;
    std::exception_ptr failure_;
};

}  // namespace weir::tls::detail
