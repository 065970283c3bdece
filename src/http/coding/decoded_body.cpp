// SPDX-License-Identifier: MIT
// The room grows with what has been decompressed, so that a bomb costs no more than the limit.

#include "http/coding/body_decoder.hpp"

#include <weir/http/client_error.hpp>
#include <weir/http/decoded_body.hpp>
#include <weir/io/error.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace weir::http {

std::optional<std::string> decoded_body(std::string_view coding, std::string_view body,
                                        std::uint64_t limit) {
    detail::body_decoder decoder;
    if (!decoder.begin(coding, limit)) {
        return std::nullopt;
    }
    std::string text;
    try {
        for (std::size_t size = 0;;) {
            text.resize(size + std::max<std::size_t>(size / 2, 16 * 1024));
            const detail::decompressor::step step =
                decoder.run(io::const_bytes(body), io::bytes(text).after(size), true);
            size += step.produced;
            body.remove_prefix(step.used);
            if (step.produced == 0 && step.used == 0) {
                text.resize(size);
                return text;
            }
        }
    } catch (const limit_exceeded&) {
        throw;
    } catch (const std::runtime_error& error) {
        throw transport_error(transport_error::kind::protocol, error.what());
    }
}

}  // namespace weir::http
