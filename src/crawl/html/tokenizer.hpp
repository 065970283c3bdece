// SPDX-License-Identifier: MIT
// The tokenizer of the HTML standard, without its tree: tags, text and comments of a page that
// arrives in pieces. The tokens do not depend on where the pieces are cut.
#pragma once

#include "crawl/html/html_sink.hpp"
#include "crawl/html/html_tag.hpp"
#include "crawl/html/markup_declaration.hpp"
#include "crawl/html/text_positions.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

// How text is read until the end tag of the element it is in.
enum class text_mode : std::uint8_t {
    data,       // tags and references
    rcdata,     // references, but no tags: <title>, <textarea>
    rawtext,    // neither: <style>, <iframe>
    script,     // neither, and '<!--' hides '</script>' after a '<script'
    plaintext,  // all of the rest
};

class html_tokenizer {
public:
    explicit html_tokenizer(html_sink& sink) noexcept : sink_(&sink) {}

    // Forgets the page before.
    void begin(bool with_positions);
    void feed(std::string_view piece);
    void finish();

    // From on_start_tag(): how to read until the end tag of that name.
    void read_text(text_mode mode);
    // on_text() is called for what follows, or is not. CDATA sections are always passed on.
    void want_text(bool wanted) noexcept { is_text_wanted_ = wanted; }
    // From on_start_tag() and on_end_tag(): '<![CDATA[' is known in SVG and MathML only.
    void allow_cdata(bool allowed) noexcept { is_cdata_allowed_ = allowed; }
    // Where the value of an attribute of the current tag begins.
    text_position position_of(const html_attribute& attribute);
    std::uint64_t offset_of(const html_attribute& attribute) const noexcept {
        return tag_.slot_at(attribute.index).offset;
    }

private:
    enum class state : std::uint8_t;
    void step_text();
    void step_raw_text();
    void step_script();
    void step_markup();
    void step_end_name();
    void step_tag();

    void read_tag(bool is_end);
    void begin_tag(bool is_end) noexcept;
    void end_name();
    void begin_value();
    void emit_tag();
    void call_sink();
    void emit_text(std::string_view piece);
    void release_held(state next);
    bool ends_element() const noexcept;
    void take_double_escape(std::uint8_t if_script, std::uint8_t if_not);
    void locate_values();
    std::uint64_t offset_of(const char* place) const noexcept {
        return offset_ + static_cast<std::uint64_t>(place - begin_);
    }

    html_sink* sink_;
    const char* at_ = nullptr;
    const char* end_ = nullptr;
    const char* begin_ = nullptr;
    std::uint64_t offset_ = 0;  // of begin_ in the page
    state state_{};
    text_mode mode_ = text_mode::data;
    bool is_cdata_allowed_ = false;
    bool is_text_wanted_ = true;
    bool is_end_tag_ = false;
    bool is_located_ = false;  // positions are wanted
    std::uint8_t escape_ = 0;  // in scripts: 1 after '<!--', 2 after '<script' in that
    std::uint8_t dashes_ = 0;  // in scripts: the '-' just before, up to 2
    std::size_t located_ = 0;  // attributes of the current tag whose position is known
    std::uint64_t tag_offset_ = 0;
    html_tag tag_;
    markup_declaration declaration_;
    std::string element_;  // the name whose end tag ends the text
    std::string held_;     // what may turn out to be text: '</scr'
    text_positions positions_;
};

}  // namespace weir::crawl::detail
