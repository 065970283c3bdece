// SPDX-License-Identifier: MIT
// Some states of the standard differ in the parse errors they report and in nothing else. They are
// one state here: a doctype is all up to '>', and '<!--' inside a comment is text of it.

#include "crawl/html/markup_declaration.hpp"

#include "crawl/html/html_letters.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace weir::crawl::detail {
namespace {

std::string_view declaration_run(const char* from, const char* to) noexcept {
    return {from, static_cast<std::size_t>(to - from)};
}

}  // namespace

void markup_declaration::begin(bool is_cdata_allowed) {
    state_ = state::undecided;
    is_cdata_allowed_ = is_cdata_allowed;
    held_.clear();
}

const char* markup_declaration::take(const char* at, const char* end, html_sink& sink) {
    while (at != end && state_ != state::over) {
        if (state_ == state::undecided) {
            at = decide(at, sink);
        } else if (state_ <= state::doctype) {
            at = take_to_bracket(at, end, sink);
        } else if (state_ <= state::comment_end_bang) {
            at = take_comment(at, end, sink);
        } else {
            at = take_cdata(at, end, sink);
        }
    }
    return at;
}

void markup_declaration::finish(html_sink& sink) {
    switch (state_) {
        case state::over:
        case state::cdata:
            break;
        case state::cdata_bracket:
            sink.on_text("]", true);
            break;
        case state::cdata_end:
            sink.on_text("]]", true);
            break;
        case state::doctype:
            sink.on_doctype();
            break;
        case state::undecided:
            sink.on_comment(held_);
            sink.on_comment_end();
            break;
        default:
            sink.on_comment_end();
            break;
    }
    state_ = state::over;
}

const char* markup_declaration::decide(const char* at, html_sink& sink) {
    held_ += *at;
    constexpr std::string_view words[] = {"--", "doctype", "[CDATA["};
    for (const std::string_view word : words) {
        const bool is_cdata = word[0] == '[';
        if ((is_cdata && !is_cdata_allowed_) || held_.size() > word.size() ||
            !std::equal(held_.begin(), held_.end(), word.begin(), [&](char held, char known) {
                return (is_cdata ? held : html_lower(held)) == known;
            })) {
            continue;
        }
        if (held_.size() == word.size()) {
            state_ = is_cdata         ? state::cdata
                     : word[0] == '-' ? state::comment_start
                                      : state::doctype;
        }
        return at + 1;
    }
    held_.pop_back();
    if (!held_.empty()) {
        sink.on_comment(held_);
    }
    state_ = state::bogus_comment;
    return at;
}

const char* markup_declaration::take_to_bracket(const char* at, const char* end, html_sink& sink) {
    const char* found = find_letter(at, end, '>');
    if (state_ == state::bogus_comment && found != at) {
        sink.on_comment(declaration_run(at, found));
    }
    if (found == end) {
        return end;
    }
    if (state_ == state::bogus_comment) {
        sink.on_comment_end();
    } else {
        sink.on_doctype();
    }
    state_ = state::over;
    return found + 1;
}

const char* markup_declaration::take_comment(const char* at, const char* end, html_sink& sink) {
    if (state_ == state::comment) {
        const char* found = find_letter(at, end, '-');
        if (found != at) {
            sink.on_comment(declaration_run(at, found));
        }
        if (found == end) {
            return end;
        }
        state_ = state::comment_end_dash;
        return found + 1;
    }
    if (*at == '-') {
        return take_dash(at, sink);
    }
    if (*at == '>' && state_ != state::comment_end_dash) {
        sink.on_comment_end();
        state_ = state::over;
        return at + 1;
    }
    if (*at == '!' && state_ == state::comment_end) {
        state_ = state::comment_end_bang;
        return at + 1;
    }
    // The dashes before this letter did not end the comment: they are text of it.
    if (state_ != state::comment_start) {
        sink.on_comment(state_ == state::comment_end        ? "--"
                        : state_ == state::comment_end_bang ? "--!"
                                                            : "-");
    }
    state_ = state::comment;
    return at;
}

const char* markup_declaration::take_dash(const char* at, html_sink& sink) {
    switch (state_) {
        case state::comment_start:
            state_ = state::comment_start_dash;
            break;
        case state::comment_end:
            sink.on_comment("-");
            break;
        case state::comment_end_bang:
            sink.on_comment("--!");
            state_ = state::comment_end_dash;
            break;
        default:
            state_ = state::comment_end;
            break;
    }
    return at + 1;
}

const char* markup_declaration::take_cdata(const char* at, const char* end, html_sink& sink) {
    if (state_ == state::cdata) {
        const char* found = find_letter(at, end, ']');
        if (found != at) {
            sink.on_text(declaration_run(at, found), true);
        }
        if (found == end) {
            return end;
        }
        state_ = state::cdata_bracket;
        return found + 1;
    }
    const bool has_two = state_ == state::cdata_end;
    if (*at == ']') {
        if (has_two) {
            sink.on_text("]", true);
        }
        state_ = state::cdata_end;
        return at + 1;
    }
    if (*at == '>' && has_two) {
        state_ = state::over;
        return at + 1;
    }
    sink.on_text(has_two ? "]]" : "]", true);
    state_ = state::cdata;
    return at;
}

}  // namespace weir::crawl::detail
