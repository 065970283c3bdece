// SPDX-License-Identifier: MIT
// One function per group of states; each takes as many bytes as its group can use. Runs of text and
// values are found with memchr and passed on or copied as a whole. What is not decided yet when a
// piece ends is in the state, in the tag, or in held_, so no byte is read twice.

#include "crawl/html/tokenizer.hpp"

#include "base/ascii.hpp"
#include "crawl/html/html_letters.hpp"

#include <algorithm>
#include <cstring>

namespace weir::crawl::detail {

enum class html_tokenizer::state : std::uint8_t {
    text,
    raw_open,      // after '<' in raw text
    raw_end_open,  // after '</'
    raw_end_name,
    escape_start,  // in scripts after '<!'
    escape_start_dash,
    double_escape_start,  // after '<' and a letter, in a script's comment
    double_escape_open,   // after '<', in a '<script' in that
    double_escape_end,    // after '</'
    tag_open,
    end_tag_open,
    tag_name,  // from here to self_closing: inside a tag
    before_name,
    name,
    after_name,
    before_value,
    double_quoted,
    single_quoted,
    unquoted,
    after_quoted,
    self_closing,
    declaration,  // after '<!', '<?' or '</' without a name
};

namespace {

std::string_view html_run(const char* from, const char* to) noexcept {
    return {from, static_cast<std::size_t>(to - from)};
}

}  // namespace

void html_tokenizer::begin(bool with_positions) {
    state_ = state::text;
    mode_ = text_mode::data;
    is_cdata_allowed_ = false;
    is_located_ = with_positions;
    offset_ = 0;
    held_.clear();
    positions_.begin();
}

void html_tokenizer::feed(std::string_view piece) {
    begin_ = at_ = piece.data();
    end_ = begin_ + piece.size();
    if (is_located_) {
        positions_.set_piece(piece);
    }
    while (at_ != end_) {
        if (state_ == state::text) {
            step_text();
        } else if (state_ >= state::tag_name && state_ <= state::self_closing) {
            step_tag();
        } else if (state_ <= state::raw_end_name || state_ == state::tag_open ||
                   state_ == state::end_tag_open) {
            step_markup();
        } else if (state_ <= state::double_escape_end) {
            step_script();
        } else {
            at_ = declaration_.take(at_, end_, *sink_);
            state_ = declaration_.is_over() ? state::text : state::declaration;
        }
    }
    if (is_located_) {
        locate_values();
        positions_.advance(offset_ + piece.size());
    }
    offset_ += piece.size();
}

void html_tokenizer::finish() {
    switch (state_) {
        case state::raw_open:
        case state::raw_end_open:
        case state::raw_end_name:
            emit_text(held_);
            break;
        case state::tag_open:
            emit_text("<");
            break;
        case state::end_tag_open:
            emit_text("</");
            break;
        case state::declaration:
            declaration_.finish(*sink_);
            break;
        default:  // the end of the page inside a tag ends it without effect
            break;
    }
    state_ = state::text;
}

void html_tokenizer::read_text(text_mode mode) {
    mode_ = mode;
    escape_ = 0;
    dashes_ = 0;
    element_ = tag_.name();
}

// Text up to the next '<' and, in scripts, with what is remembered of comments in them.
void html_tokenizer::step_text() {
    if (mode_ == text_mode::script && escape_ > 0) {
        step_raw_text();
        return;
    }
    const char* found = mode_ == text_mode::plaintext ? end_ : find_letter(at_, end_, '<');
    emit_text(html_run(at_, found));
    at_ = found;
    if (found == end_) {
        return;
    }
    ++at_;
    if (mode_ != text_mode::data) {
        held_ = "<";
        state_ = state::raw_open;
    } else if (at_ != end_ && base::is_letter(*at_)) {
        read_tag(false);
    } else if (end_ - at_ > 1 && *at_ == '/' && base::is_letter(at_[1])) {
        ++at_;
        read_tag(true);
    } else {
        state_ = state::tag_open;
    }
}

void html_tokenizer::step_raw_text() {
    const char* from = at_;
    while (at_ != end_) {
        const char letter = *at_++;
        if (letter == '-') {
            dashes_ = static_cast<std::uint8_t>(std::min(dashes_ + 1, 2));
            continue;
        }
        const bool had_two = dashes_ == 2;
        dashes_ = 0;
        if (letter == '>' && had_two) {
            escape_ = 0;
            break;
        }
        if (letter == '<') {
            const bool is_double = escape_ == 2;
            emit_text(html_run(from, is_double ? at_ : at_ - 1));
            held_ = "<";
            state_ = is_double ? state::double_escape_open : state::raw_open;
            return;
        }
    }
    emit_text(html_run(from, at_));
}

// After '<' or '</': a tag, something else with markup, or text after all.
void html_tokenizer::step_markup() {
    const char letter = *at_;
    switch (state_) {
        case state::tag_open:
            if (base::is_letter(letter)) {
                read_tag(false);
            } else if (letter == '/') {
                ++at_;
                state_ = state::end_tag_open;
            } else if (letter == '!') {
                ++at_;
                declaration_.begin(is_cdata_allowed_);
                state_ = state::declaration;
            } else if (letter == '?') {
                declaration_.begin_bogus();
                state_ = state::declaration;
            } else {
                emit_text("<");
                state_ = state::text;
            }
            return;
        case state::end_tag_open:
            if (base::is_letter(letter)) {
                read_tag(true);
            } else if (letter == '>') {
                ++at_;
                state_ = state::text;
            } else {
                declaration_.begin_bogus();
                state_ = state::declaration;
            }
            return;
        case state::raw_open:
            if (letter == '/') {
                ++at_;
                held_ = "</";
                state_ = state::raw_end_open;
            } else if (mode_ == text_mode::script && escape_ == 0 && letter == '!') {
                ++at_;
                held_ = "<!";
                release_held(state::escape_start);
            } else if (mode_ == text_mode::script && escape_ == 1 && base::is_letter(letter)) {
                release_held(state::double_escape_start);
            } else {
                release_held(state::text);
            }
            return;
        case state::raw_end_open:
            if (base::is_letter(letter)) {
                state_ = state::raw_end_name;
            } else {
                release_held(state::text);
            }
            return;
        default:
            step_end_name();
            return;
    }
}

void html_tokenizer::step_end_name() {
    while (at_ != end_ && base::is_letter(*at_) && held_.size() - 2 <= element_.size()) {
        held_ += *at_++;
    }
    if (at_ == end_) {
        return;
    }
    if ((is_html_blank(*at_) || *at_ == '/' || *at_ == '>') && ends_element()) {
        begin_tag(true);
        tag_.set_name(element_);
        tag_.keep_attributes(false);
        state_ = state::before_name;
    } else {
        release_held(state::text);
    }
}

bool html_tokenizer::ends_element() const noexcept {
    return std::equal(held_.begin() + 2, held_.end(), element_.begin(), element_.end(),
                      [](char held, char known) { return html_lower(held) == known; });
}

// Comments in scripts, and '<script' in these.
void html_tokenizer::step_script() {
    const char letter = *at_;
    switch (state_) {
        case state::escape_start:
        case state::escape_start_dash:
            if (letter != '-') {
                state_ = state::text;
                return;
            }
            emit_text(html_run(at_, at_ + 1));
            ++at_;
            if (state_ == state::escape_start) {
                state_ = state::escape_start_dash;
            } else {
                escape_ = 1;
                dashes_ = 2;
                state_ = state::text;
            }
            return;
        case state::double_escape_open:
            if (letter == '/') {
                emit_text(html_run(at_, at_ + 1));
                ++at_;
                held_.clear();
                state_ = state::double_escape_end;
            } else {
                state_ = state::text;
            }
            return;
        case state::double_escape_start:
            take_double_escape(2, 1);
            return;
        default:
            take_double_escape(1, 2);
            return;
    }
}

// A name after '<' or '</' in a script's comment.
void html_tokenizer::take_double_escape(std::uint8_t if_script, std::uint8_t if_not) {
    const char letter = *at_;
    if (base::is_letter(letter)) {
        if (held_.size() <= 6) {
            held_ += html_lower(letter);
        }
    } else if (is_html_blank(letter) || letter == '/' || letter == '>') {
        escape_ = held_ == "script" ? if_script : if_not;
        state_ = state::text;
    } else {
        state_ = state::text;
        return;
    }
    emit_text(html_run(at_, at_ + 1));
    ++at_;
}

void html_tokenizer::step_tag() {
    while (at_ != end_) {
        const char letter = *at_;
        switch (state_) {
            case state::tag_name:
                at_ = tag_.take_name(at_, end_);
                if (at_ != end_) {
                    end_name();
                }
                break;
            case state::name:
                at_ = tag_.take_attribute_name(at_, end_);
                state_ = at_ == end_ ? state_ : state::after_name;
                break;
            case state::before_name:
            case state::after_name:
            case state::after_quoted:
                if (is_html_blank(letter)) {
                    ++at_;
                    state_ = state_ == state::after_name ? state_ : state::before_name;
                } else if (letter == '/') {
                    ++at_;
                    state_ = state::self_closing;
                } else if (letter == '>') {
                    ++at_;
                    emit_tag();
                    return;
                } else if (letter == '=' && state_ == state::after_name) {
                    ++at_;
                    state_ = state::before_value;
                } else {
                    tag_.begin_attribute(offset_of(at_));
                    at_ = tag_.take_first_letter(at_);
                    state_ = state::name;
                }
                break;
            case state::before_value:
                if (is_html_blank(letter)) {
                    ++at_;
                    break;
                }
                if (letter == '>') {
                    begin_value();
                    ++at_;
                    emit_tag();
                    return;
                }
                state_ = letter == '"'    ? state::double_quoted
                         : letter == '\'' ? state::single_quoted
                                          : state::unquoted;
                at_ += state_ == state::unquoted ? 0 : 1;
                begin_value();
                break;
            case state::double_quoted:
            case state::single_quoted: {
                const char quote = state_ == state::double_quoted ? '"' : '\'';
                const char* found = find_letter(at_, end_, quote);
                tag_.append_value(html_run(at_, found));
                at_ = found;
                if (found != end_) {
                    ++at_;
                    state_ = state::after_quoted;
                }
                break;
            }
            case state::unquoted:
                at_ = tag_.take_unquoted(at_, end_);
                state_ = at_ == end_ ? state_ : state::before_name;
                break;
            default:  // self_closing
                if (letter == '>') {
                    ++at_;
                    tag_.set_self_closing();
                    emit_tag();
                    return;
                }
                state_ = state::before_name;
                break;
        }
    }
}

void html_tokenizer::end_name() {
    state_ = state::before_name;
    tag_.keep_attributes(!is_end_tag_ && sink_->wants_attributes(tag_.name()));
}

// Most tags are complete and ordinary. The others are collected letter by letter; at most one of a
// piece is looked at twice.
void html_tokenizer::read_tag(bool is_end) {
    begin_tag(is_end);
    if (const char* name_end = tag_.take_short_name(at_, end_)) {
        tag_.keep_attributes(!is_end && sink_->wants_attributes(tag_.name()));
        if (const char* after = tag_.take_whole(name_end, end_, offset_of(name_end))) {
            at_ = after;
            call_sink();
            return;
        }
        tag_.begin();
    }
    state_ = state::tag_name;
}

void html_tokenizer::begin_tag(bool is_end) noexcept {
    tag_.begin();
    is_end_tag_ = is_end;
    located_ = 0;
    tag_offset_ = offset_of(at_);
}

void html_tokenizer::begin_value() {
    tag_.begin_value(offset_of(at_));
    located_ = std::min(located_, tag_.size() - (tag_.size() > 0 ? 1 : 0));
}

void html_tokenizer::emit_tag() {
    tag_.seal();
    call_sink();
}

void html_tokenizer::call_sink() {
    state_ = state::text;
    mode_ = text_mode::data;
    if (is_end_tag_) {
        sink_->on_end_tag(tag_);
    } else {
        sink_->on_start_tag(tag_);
    }
}

void html_tokenizer::emit_text(std::string_view piece) {
    if (!piece.empty() && is_text_wanted_) {
        sink_->on_text(piece, mode_ != text_mode::data && mode_ != text_mode::rcdata);
    }
}

// What was held back is text.
void html_tokenizer::release_held(state next) {
    emit_text(held_);
    held_.clear();
    state_ = next;
}

text_position html_tokenizer::position_of(const html_attribute& attribute) {
    const html_tag::slot& slot = tag_.slot_at(attribute.index);
    if (!is_located_ || slot.position.line != 0) {
        return slot.position;
    }
    positions_.advance(tag_offset_);
    return positions_.at(slot.offset);
}

// The current piece ends inside a tag: the places of its values so far can be found only now.
void html_tokenizer::locate_values() {
    if (state_ < state::tag_name || state_ > state::self_closing) {
        return;
    }
    for (; located_ < tag_.size(); ++located_) {
        const std::uint64_t offset = tag_.slot_at(located_).offset;
        positions_.advance(offset);
        tag_.set_position(located_, positions_.at(offset));
    }
}

}  // namespace weir::crawl::detail
