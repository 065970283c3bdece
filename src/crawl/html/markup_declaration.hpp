// SPDX-License-Identifier: MIT
// What follows '<!': a comment, a doctype, a CDATA section or a bogus comment, in pieces.
#pragma once

#include "crawl/html/html_sink.hpp"

#include <cstdint>
#include <string>

namespace weir::crawl::detail {

class markup_declaration {
public:
    // After '<!'.
    void begin(bool is_cdata_allowed);
    // After '<' before '?', or after '</' without a name: all up to '>' is a comment.
    void begin_bogus() noexcept { state_ = state::bogus_comment; }
    // Takes letters until the declaration is over; gives the place of the first one not taken.
    const char* take(const char* at, const char* end, html_sink& sink);
    // The page ends here.
    void finish(html_sink& sink);
    bool is_over() const noexcept { return state_ == state::over; }

private:
    enum class state : std::uint8_t {
        over,
        undecided,  // until it is known what '<!' begins
        bogus_comment,
        doctype,
        comment_start,
        comment_start_dash,
        comment,
        comment_end_dash,
        comment_end,
        comment_end_bang,
        cdata,
        cdata_bracket,
        cdata_end,
    };
    const char* decide(const char* at, html_sink& sink);
    const char* take_to_bracket(const char* at, const char* end, html_sink& sink);
    const char* take_comment(const char* at, const char* end, html_sink& sink);
    const char* take_dash(const char* at, html_sink& sink);
    const char* take_cdata(const char* at, const char* end, html_sink& sink);

    state state_ = state::over;
    bool is_cdata_allowed_ = false;
    std::string held_;  // of a word that is not complete: 'docty'
};

}  // namespace weir::crawl::detail
