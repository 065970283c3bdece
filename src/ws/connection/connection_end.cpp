// SPDX-License-Identifier: MIT
// How a connection comes to its end. There are four ways. begin_close: we say good-bye and wait for
// the peer's answer. peer_closed and peer_failed: the peer said its last word; our answer waits
// until the handler has taken what came before and asks for more, since it may want to answer that.
// send_away: the peer is too slow. lose: nothing more can be said. close_deadline_ makes sure that
// the others end there at last.
//
// The first of them decides what the handler is told: end_.

#include "ws/connection/connection_core.hpp"

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
    answer_at_ = never;
    close_deadline_ = weir::detail::after(now(), options_.close_timeout);
    out_.set_close(std::move(said));
    wake_writer();
    room_.set();
    inbox_room_.set();
    changed_.set();
}

void connection_core::send_away(std::string_view why) {
    is_refused_ = true;
    out_.discard();
    begin_close(make_close(close_code::policy_violation, why));
    end_with({close_code::policy_violation, std::string(why),
              "the peer was sent away: " + described(close_code::policy_violation, why), false,
              false});
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
    end_with({code, std::string(reason),
              "the peer closed the connection: " + described(code, reason), is_regular(code),
              false});
    answer_with(make_close(code, {}));
}

void connection_core::peer_failed(close_code code, std::string_view why) {
    is_refused_ = true;
    end_with({code, std::string(why), "the peer broke the protocol: " + described(code, why), false,
              true});
    answer_with(make_close(code, why));
}

// Nothing more will come. Unless the handler waits for more already, it may have to say something
// about what came before.
void connection_core::answer_with(frame said) {
    answer_ = std::move(said);
    const bool is_at_work = takes_messages_ && receivers_ == 0;
    if (inbox_.empty() && !is_at_work) {
        answer_close();
    } else {
        answer_at_ = weir::detail::after(now(), options_.close_timeout);
        changed_.set();
    }
    wake_writer();  // it may have waited for this
}

void connection_core::answer_close() {
    if (answer_) {
        begin_close(std::exchange(answer_, {}));
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
