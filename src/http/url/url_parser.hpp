// SPDX-License-Identifier: MIT
// From text to the parts of a URL in its normal form.
#pragma once

#include <weir/http/url.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http::detail {

std::uint16_t default_port(std::string_view scheme) noexcept;

// Parses one URL. It throws nothing for an invalid one: among links they are common.
class url_parser {
public:
    // Accepts what every parser understands in the same way. False if it is not a valid URL;
    // reason() says why.
    bool parse(std::string_view text);
    // Accepts what browsers do, by the rules of the WHATWG URL standard. `base` is in normal form,
    // and is not empty.
    bool resolve(std::string_view base, const url_parts& base_parts, std::string_view reference);

    std::string& text() noexcept { return text_; }
    const url_parts& parts() const noexcept { return parts_; }
    const std::string& reason() const noexcept { return reason_; }

private:
    bool refuse(std::string reason);
    bool check_strictly(std::string_view text);
    bool resolve_relative(std::string_view base, const url_parts& base_parts,
                          std::string_view reference);
    // Begins with the beginning of a base. `more`: the size of what will follow, roughly.
    void copy_base(std::string_view beginning, const url_parts& parts, std::size_t more);
    // The steps below write what they are given, and return false if it is invalid.
    bool write_scheme(std::string_view scheme);
    bool write_from_authority(std::string_view rest);
    bool write_credentials(std::string_view credentials);
    bool write_credential(std::string_view raw);
    bool write_port(std::string_view port);
    bool write_from_path(std::string_view rest);
    bool write_from_query(std::string_view rest);
    bool write_fragment(std::string_view rest);
    void write_segments(std::string_view path);
    void write_encoded(char delimiter, std::string_view part, std::uint8_t set);
    bool note_end(std::uint16_t& offset);

    std::uint8_t sets_ = 0;  // those of url_characters.hpp that characters of the input are in
    std::string text_;
    url_parts parts_;
    std::string reason_;
};

}  // namespace weir::http::detail
