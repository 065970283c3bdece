// SPDX-License-Identifier: MIT
// From text to the parts of a URL in its normal form.
#pragma once

#include <weir/http/url.hpp>

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http::detail {

// The size of the scheme, if the text begins with one and a colon (RFC 3986 section 3.1); else 0.
std::size_t scheme_size(std::string_view text) noexcept;
std::uint16_t default_port(std::string_view scheme) noexcept;

// Parses one URL. It throws nothing for an invalid one: among links they are common.
class url_parser {
public:
    // False if it is not a valid URL; reason() says why.
    bool parse(std::string_view text);

    std::string& text() noexcept { return text_; }
    const url_parts& parts() const noexcept { return parts_; }
    const std::string& reason() const noexcept { return reason_; }

private:
    bool refuse(std::string reason);
    bool check_beginning(std::string_view text);
    bool write_authority(CURLU* from);
    bool write_credential(const std::string& raw);
    bool write_path_and_rest(CURLU* from);
    bool note_end(std::uint16_t& offset);

    std::string text_;
    url_parts parts_;
    std::string reason_;
};

}  // namespace weir::http::detail
