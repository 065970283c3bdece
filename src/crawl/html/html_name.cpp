// SPDX-License-Identifier: MIT
// A hash table made by the compiler: one comparison finds a name or shows that it is unknown.

#include "crawl/html/html_name.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::crawl::detail {
namespace {

constexpr html_element html_elements[] = {
    {"a", html_name::a, false},
    {"annotation-xml", html_name::annotation_xml, false},
    {"area", html_name::area, false},
    {"audio", html_name::audio, false},
    {"base", html_name::base, false},
    {"body", html_name::body, true},
    {"br", html_name::br, true},
    {"desc", html_name::desc, false},
    {"embed", html_name::embed, true},
    {"font", html_name::font, false},  // with some attributes only
    {"foreignobject", html_name::foreign_object, false},
    {"frame", html_name::frame, false},
    {"iframe", html_name::iframe, false},
    {"image", html_name::image, false},
    {"img", html_name::img, true},
    {"input", html_name::input, false},
    {"link", html_name::link, false},
    {"math", html_name::math, false},
    {"meta", html_name::meta, true},
    {"mi", html_name::mi, false},
    {"mn", html_name::mn, false},
    {"mo", html_name::mo, false},
    {"ms", html_name::ms, false},
    {"mtext", html_name::mtext, false},
    {"noembed", html_name::noembed, false},
    {"noframes", html_name::noframes, false},
    {"object", html_name::object, false},
    {"p", html_name::p, true},
    {"plaintext", html_name::plaintext, false},
    {"script", html_name::script, false},
    {"source", html_name::source, false},
    {"style", html_name::style, false},
    {"svg", html_name::svg, false},
    {"table", html_name::table, true},
    {"td", html_name::td, false},
    {"template", html_name::template_element, false},
    {"textarea", html_name::textarea, false},
    {"th", html_name::th, false},
    {"title", html_name::title, false},
    {"track", html_name::track, false},
    {"video", html_name::video, false},
    {"xmp", html_name::xmp, false},
    {"b", html_name::plain, true},
    {"big", html_name::plain, true},
    {"blockquote", html_name::plain, true},
    {"center", html_name::plain, true},
    {"code", html_name::plain, true},
    {"dd", html_name::plain, true},
    {"div", html_name::plain, true},
    {"dl", html_name::plain, true},
    {"dt", html_name::plain, true},
    {"em", html_name::plain, true},
    {"h1", html_name::plain, true},
    {"h2", html_name::plain, true},
    {"h3", html_name::plain, true},
    {"h4", html_name::plain, true},
    {"h5", html_name::plain, true},
    {"h6", html_name::plain, true},
    {"head", html_name::plain, true},
    {"hr", html_name::plain, true},
    {"i", html_name::plain, true},
    {"li", html_name::plain, true},
    {"listing", html_name::plain, true},
    {"menu", html_name::plain, true},
    {"nobr", html_name::plain, true},
    {"ol", html_name::plain, true},
    {"pre", html_name::plain, true},
    {"ruby", html_name::plain, true},
    {"s", html_name::plain, true},
    {"small", html_name::plain, true},
    {"span", html_name::plain, true},
    {"strong", html_name::plain, true},
    {"strike", html_name::plain, true},
    {"sub", html_name::plain, true},
    {"sup", html_name::plain, true},
    {"tt", html_name::plain, true},
    {"u", html_name::plain, true},
    {"ul", html_name::plain, true},
    {"var", html_name::plain, true},
};
constexpr html_element no_element;

constexpr std::size_t element_slots = 512;

constexpr std::size_t element_hash(std::string_view name, std::size_t factor) noexcept {
    const auto letter = [&](std::size_t at) {
        return static_cast<std::size_t>(static_cast<unsigned char>(name[at]));
    };
    const std::size_t last = name.size() - 1;
    const std::size_t mixed =
        (letter(0) | letter(last / 2) << 8 | letter(last) << 16) + (name.size() << 24);
    return ((mixed * factor) >> 16) % element_slots;
}

// No two names share a slot with this factor. After a change of the names, look for another one.
constexpr std::size_t element_factor = 2654437457;

consteval bool has_slot_for_each() {
    std::array<bool, element_slots> taken{};
    for (const html_element& each : html_elements) {
        bool& slot = taken[element_hash(each.text, element_factor)];
        if (slot) {
            return false;
        }
        slot = true;
    }
    return true;
}
static_assert(has_slot_for_each());

constexpr std::array<std::uint8_t, element_slots> element_table = [] {
    std::array<std::uint8_t, element_slots> table{};
    for (std::size_t i = 0; i < std::size(html_elements); ++i) {
        table[element_hash(html_elements[i].text, element_factor)] =
            static_cast<std::uint8_t>(i + 1);
    }
    return table;
}();

}  // namespace

const html_element& html_element_of(std::string_view name) noexcept {
    if (name.empty()) {
        return no_element;
    }
    const std::size_t found = element_table[element_hash(name, element_factor)];
    return found != 0 && html_elements[found - 1].text == name ? html_elements[found - 1]
                                                               : no_element;
}

}  // namespace weir::crawl::detail
