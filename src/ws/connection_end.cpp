// SPDX-License-Identifier: MIT
// How a connection comes to its end. There are four ways. begin_close: we say good-bye and wait for the
// peer's answer. peer_closed: the peer did; our answer waits until the handler has taken what came before
// and asks for more, since it may want to answer that. refuse: the peer broke the rules and is told so.
// lose: nothing more can be said. close_deadline_ makes sure that the others end there at last.
//
// The first of them decides what the handler is told: end_.

#include "detail/connection_core.hpp"

#include <weir/loop.hpp>

namespace weir::ws::detail {

namespace {

std::string described(close_code code, std::string_view reason) {
    std::string text = code == close_code::none ? "no code" : std::to_string(number_of(code));
    if (!reason.empty()) {
        text.append(" ").append(reason);
    }
    return text;
}

}  // namespace

void connection_core::end_with(end how) {
    if (!end_) {
        how.is_regular = how.is_regular || (is_closed_by_us_ && !how.is_violation);
        end_ = std::move(how);
    }
    gone_.set();
    arrival_.set();
    room_.set();
    pong_.set();
    changed_.set();
}

void connection_core::begin_close(frame said) {
    if (is_closing_) {
        return;
    }
    is_closing_ = true;
    answer_close_at_ = never;
    close_deadline_ = weir::detail::after(now(), options_.close_timeout);
    out_.set_close(std::move(said));
    wake_writer();
    room_.set();
    inbox_room_.set();
    changed_.set();
}

void connection_core::refuse(close_code code, std::string_view why, bool is_violation) {
    is_refused_ = true;
    out_.discard();
    begin_close(make_close(code, why));
    wake_writer();
    end_with({code, std::string(why),
              (is_violation ? "the peer broke the protocol: " : "the peer was sent away: ") +
                  described(code, why),
              false, is_violation});
}

void connection_core::lose(std::string why) {
    is_broken_ = true;
    out_.discard();
    stream_.close();
    wake_writer();
    inbox_room_.set();
    end_with({close_code::abnormal, {}, "the connection is lost (1006): " + why, false, false});
}

// The reader is left some time to find out why: a close frame may have come just before.
void connection_core::write_failed(std::string why) {
    is_broken_ = true;
    broken_by_ = std::move(why);
    out_.discard();
    if (close_deadline_ == never) {
        close_deadline_ = weir::detail::after(now(), options_.close_timeout);
    }
    room_.set();
    inbox_room_.set();
    pong_.set();
    changed_.set();
}

void connection_core::peer_closed(close_code code, std::string_view reason) {
    is_closed_by_peer_ = true;
    peer_code_ = code;
    end_with({code, std::string(reason),
              "the peer closed the connection: " + described(code, reason), is_regular(code),
              false});
    if (!takes_messages_ || receivers_ > 0) {
        answer_close();
    } else if (!is_closing_) {
        answer_close_at_ = weir::detail::after(now(), options_.close_timeout);
        changed_.set();
    }
    wake_writer();  // it may have waited for this
}

void connection_core::answer_close() {
    if (is_closed_by_peer_ && !is_closing_) {
        begin_close(make_close(peer_code_, {}));
    }
}

task<> connection_core::shut_down(weir::ending how) {
    answer_close();
    if (!is_closing_) {
        is_closed_by_us_ = true;
        const close_code code = how == weir::ending::value   ? close_code::normal
                                : how == weir::ending::error ? close_code::internal_error
                                                             : close_code::going_away;
        begin_close(make_close(code, {}));
    }
    co_await finished_.wait();
}

}  // namespace weir::ws::detail
