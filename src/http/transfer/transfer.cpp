// SPDX-License-Identifier: MIT
// The life of a transfer. libcurl's callbacks (transfer_callbacks.cpp) fill in the head and the
// body; here is what begins and ends it. Three things end it: libcurl, one of its time limits, or
// its owner, and whichever comes first takes the easy handle out of libcurl at once.
//
// The time limits are one timer of the loop. It is set for the earliest of them and looks, when it
// fires, whether bytes have come or gone since; so a byte costs a look at the clock and no timer.

#include "http/transfer/transfer.hpp"

#include "http/client/client_core.hpp"
#include "http/transfer/upload.hpp"

#include <algorithm>
#include <new>

namespace weir::http::detail {

transfer::transfer() : location_(curl_url()), easy_(curl_easy_init()) {
    if (easy_ == nullptr || location_ == nullptr) {
        curl_easy_cleanup(easy_);
        curl_url_cleanup(location_);
        throw std::bad_alloc();
    }
}

transfer::~transfer() {
    curl_easy_cleanup(easy_);
    curl_url_cleanup(location_);
}

void transfer::prepare(std::shared_ptr<client_core> core) {
    core_ = std::move(core);
    if (!is_configured_) {
        configure();
        is_configured_ = true;
    }
}

void transfer::set_route(host_place host, const std::vector<io::address>& found) {
    connects_to_address_ = found.empty();
    has_several_addresses_ = found.size() > 1;
    if (!found.empty()) {
        core_->hosts().tell(host.host(), found, resolve_list_);
    }
    route_ = std::move(host);
}

void transfer::set_fresh() noexcept {
    is_fresh_ = true;
    curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
}

// libcurl gives up after five dead connections; there may be more of them.
bool transfer::may_try_fresh() const noexcept {
    return !has_head_ && is_connected_ && !has_opened_ && !is_fresh_ && failed_by_end_ &&
           version_ == 0 && !used_stream_ && may_begin_anew();
}

void transfer::forget_upload() noexcept {
    used_stream_ = sending_->was_called();
    sending_ = nullptr;
}

void transfer::start(client_request& wanted, const deadlines& limits, host_place place,
                     upload* sending) {
    set_url(wanted.url());
    method_name_.assign(wanted.method_name());
    is_repeatable_ = is_idempotent(wanted.method()) || wanted.headers().contains("Idempotency-Key");
    sending_ = sending;
    if (sending == nullptr) {
        sent_ = std::move(wanted.body());
    }
    limits_ = limits;
    error_text_[0] = '\0';
    set_method(wanted);
    set_headers(wanted);
    if (!resolve_list_.empty()) {
        curl_easy_setopt(easy_, CURLOPT_RESOLVE, resolve_list_.get());
    }
    set_connect_limit();
    last_activity_ = core_->home()->now();
    place_ = std::move(place);
    is_under_way_ = true;
    core_->began(*this);
    set_timer();
    try {
        core_->add(easy_);
    } catch (...) {
        conclude();
        throw;
    }
}

void transfer::reset() noexcept {
    waiter_ = nullptr;
    reader_ = nullptr;
    if (is_under_way_) {
        core_->remove(easy_);
        conclude();
    }
    // Nothing of libcurl's may refer to it any more. If it was not connected, what libcurl knows
    // about the host is uncertain.
    if (!resolve_list_.empty()) {
        curl_easy_setopt(easy_, CURLOPT_RESOLVE, nullptr);
        resolve_list_.clear();
        if (!is_connected_) {
            host_table::forget(route_.host());
        }
    }
    route_ = host_place();
    if (std::exchange(is_fresh_, false)) {
        curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 0L);
    }
    constexpr std::size_t worth_keeping = 64 * 1024;
    if (body_.capacity() > worth_keeping) {
        std::string().swap(body_);
    }
    body_.clear();
    taken_ = 0;
    sent_ = {};
    fields_.clear();
    folded_.clear();
    header_bytes_ = 0;
    decoder_.reset();
    error_ = nullptr;
    sending_ = nullptr;
    status_ = http::status::ok;
    version_ = redirects_ = 0;
    connect_by_ = clock::time_point::max();
    is_connected_ = has_head_ = has_ended_ = is_dropping_ = is_superseded_ = has_opened_ =
        failed_by_end_ = used_stream_ = false;
    receives_no_more_ = sends_no_more_ = false;
    core_ = nullptr;  // which its releaser still holds
}

void transfer::abandon(std::exception_ptr why) noexcept {
    if (!is_under_way_ || core_->is_calling()) {
        fail(std::move(why));
        return;
    }
    core_->remove(easy_);
    fail(std::move(why));
    conclude();
}

void transfer::client_closes() noexcept {
    try {
        abandon(std::make_exception_ptr(transport_error(transport_error::kind::client_closed,
                                                        what() + ": the client was closed")));
    } catch (...) {
        abandon(std::current_exception());
    }
}

void transfer::ended(CURLcode result) noexcept {
    // It is content with half a head.
    failed_by_end_ = result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR ||
                     result == CURLE_GOT_NOTHING || result == CURLE_ABORTED_BY_CALLBACK;
    const bool is_good = (result == CURLE_OK && has_head_) || is_superseded_;
    if (!is_good && error_ == nullptr) {
        try {
            error_ = failure(result == CURLE_OK ? CURLE_GOT_NOTHING : result);
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    conclude();
}

void transfer::fail(std::exception_ptr why) noexcept {
    if (error_ == nullptr) {
        error_ = std::move(why);
    }
}

void transfer::conclude() noexcept {
    is_under_way_ = false;
    has_ended_ = true;
    if (is_armed()) {
        core_->home()->disarm(*this);
    }
    core_->concluded(*this);
    const host_place left = std::move(place_);
    wake();
}

void transfer::wake() noexcept {
    if (waiter_ != nullptr) {
        waiter_->changed();
    }
    if (reader_ != nullptr) {
        reader_->more();
    }
}

void transfer::rethrow() const {
    if (error_ != nullptr) {
        std::rethrow_exception(error_);
    }
}

transfer_wait transfer::drop_body(std::size_t worth) noexcept {
    is_dropping_ = true;
    worth_dropping_ = worth;
    body_.clear();
    taken_ = 0;
    resume_receiving();
    return {*this, transfer_wait::until::end};
}

void transfer::resume_receiving() noexcept {
    if (receives_no_more_ && is_under_way_) {
        receives_no_more_ = false;
        last_activity_ = core_->home()->now();
        core_->pause(easy_, sends_no_more_ ? CURLPAUSE_SEND : CURLPAUSE_CONT);
    }
}

void transfer::upload_has_more() noexcept {
    if (sends_no_more_ && is_under_way_) {
        sends_no_more_ = false;
        last_activity_ = core_->home()->now();
        core_->pause(easy_, receives_no_more_ ? CURLPAUSE_RECV : CURLPAUSE_CONT);
    }
}

// ---- time
// ----------------------------------------------------------------------------------------

void transfer::set_timer() noexcept {
    loop& home = *core_->home();
    const clock::time_point stalled = weir::detail::after(last_activity_, limits_.stall);
    const clock::time_point next = std::min({limits_.total, connect_by_, stalled});
    if (is_armed()) {
        if (deadline() <= next.time_since_epoch().count()) {
            return;
        }
        home.disarm(*this);
    }
    if (next != clock::time_point::max()) {
        home.arm(*this, next);
    }
}

void transfer::fire() noexcept {
    const clock::time_point now = core_->home()->now();
    // Who is not ready for more does not wait for the peer.
    if (receives_no_more_ || sends_no_more_) {
        last_activity_ = now;
    }
    using limit = request_timed_out::limit;
    const char* text = nullptr;
    limit which = limit::total;
    if (now >= limits_.total) {
        text = ": timed out as a whole";
    } else if (now >= connect_by_) {
        which = limit::connect;
        text = ": timed out while connecting";
    } else if (now >= weir::detail::after(last_activity_, limits_.stall)) {
        which = limit::stall;
        text = is_connected_ ? ": timed out, since nothing came or went for too long"
                             : ": timed out while waiting for a connection";
    }
    if (text == nullptr) {
        set_timer();
        return;
    }
    try {
        abandon(std::make_exception_ptr(request_timed_out(which, what() + text)));
    } catch (...) {
        abandon(std::current_exception());
    }
}

// ---- waiting
// -------------------------------------------------------------------------------------

bool transfer_wait::ready() noexcept {
    return of_.has_ended_ || (what_ == until::head && of_.has_head_) ||
           (what_ == until::sent && (of_.sending_ == nullptr || of_.sending_->is_taken()));
}

bool transfer_wait::start() noexcept {
    of_.waiter_ = this;
    return true;
}

bool transfer_wait::cancel() noexcept {
    of_.waiter_ = nullptr;
    return true;
}

void transfer_wait::changed() noexcept {
    if (ready()) {
        of_.waiter_ = nullptr;
        complete();
    }
}

}  // namespace weir::http::detail
