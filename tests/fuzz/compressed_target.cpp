// SPDX-License-Identifier: MIT
// Compressed bodies from servers. The first byte of the input chooses the coding; the rest is the
// same body however it is cut, never more than the limit, and comes to an end.

#include "fuzz.hpp"
#include "http/coding/body_decoder.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace {

using fuzz::require;

constexpr std::size_t limit = 20'000;

// No value: refused.
std::optional<std::string> decoded(std::string_view coding, std::string_view input,
                                   std::size_t most_piece, std::size_t most_room,
                                   fuzz::dice& random) {
    weir::http::detail::body_decoder decoder;
    require(decoder.begin(coding, limit) && decoder.is_active(), "the coding is known");
    std::string body;
    std::size_t at = 0;
    std::size_t came = 0;
    try {
        // As a transfer does: with all input, until no input is consumed and no output produced.
        for (;;) {
            came = std::min(input.size(), came + 1 + random.up_to(most_piece));
            const std::vector<char> from(input.begin() + static_cast<std::ptrdiff_t>(at),
                                         input.begin() + static_cast<std::ptrdiff_t>(came));
            std::vector<char> into(1 + random.up_to(most_room));
            const bool is_last = came == input.size();
            const auto [used, made] =
                decoder.run(weir::io::const_bytes(from), weir::io::bytes(into), is_last);
            require(used <= from.size() && made <= into.size(), "no more than there is");
            at += used;
            body.append(into.data(), made);
            require(body.size() <= limit, "the limit");
            if (is_last && used == 0 && made == 0) {
                return body;
            }
        }
    } catch (const fuzz::finding&) {
        throw;
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
}

}  // namespace

WEIR_FUZZ_TARGET(compressed) {
    constexpr std::array<std::string_view, 3> codings = {"gzip", "deflate", "br"};
    if (input.empty()) return;
    const std::string_view coding = codings[static_cast<unsigned char>(input.front()) % 3];
    input.remove_prefix(1);
    fuzz::dice random(input);
    const auto whole = decoded(coding, input, input.size(), 8192, random);
    require(decoded(coding, input, random.up_to(30), 1 + random.up_to(500), random) == whole,
            "the same in pieces");
}
