// SPDX-License-Identifier: MIT
// The names of elements that have a meaning for the reader of a page.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::crawl::detail {

enum class html_name : std::uint8_t {
    unknown,
    plain,  // known only for leaving SVG and MathML: <b>, <div>
    a,
    annotation_xml,
    area,
    audio,
    base,
    body,
    br,
    desc,
    embed,
    font,
    foreign_object,
    frame,
    iframe,
    image,
    img,
    input,
    link,
    math,
    meta,
    mi,
    mn,
    mo,
    ms,
    mtext,
    noembed,
    noframes,
    object,
    p,
    plaintext,
    script,
    source,
    style,
    svg,
    table,
    td,
    template_element,
    textarea,
    th,
    title,
    track,
    video,
    xmp,
};

struct html_element {
    std::string_view text;
    html_name name = html_name::unknown;
    bool leaves_foreign = false;  // such a start tag ends SVG and MathML
};

// The element of that name, in lower case; 'unknown' for any other.
const html_element& html_element_of(std::string_view name) noexcept;

}  // namespace weir::crawl::detail
