// SPDX-License-Identifier: MIT
// libcurl says which sockets it waits for (on_socket) and when it wants to be called at the latest
// (on_timer). A watch that fires only lists its socket and makes the timer due: libcurl is called
// from the timer, and from the fibers that add and remove transfers, never in the middle of the
// driver's work and never from its own callbacks. Each call is between begin_call() and end_call(),
// which reports the transfers that have ended and updates watches and timer.

#include "http/curl/curl_multi.hpp"

#include <weir/error.hpp>

#include <new>
#include <string>
#include <utility>
#include <vector>

namespace weir::http::detail {

class curl_multi::registry final : public loop_service {
public:
    explicit registry(loop&) noexcept {}
    ~registry() override {
        while (!clients_.empty()) {
            curl_multi* const last = clients_.back();
            last->end_all();
            last->shut_down();
        }
    }
    void add(curl_multi& bound) {
        clients_.push_back(&bound);
        bound.registry_ = this;
    }
    void remove(curl_multi& gone) noexcept { std::erase(clients_, &gone); }

private:
    std::vector<curl_multi*> clients_;
};

namespace {

void initialise_curl() {
    static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (result != CURLE_OK) {
        throw std::bad_alloc();
    }
}

}  // namespace

curl_multi::~curl_multi() {
    shut_down();
}

void curl_multi::bind_to_loop() {
    loop& current = loop::current();
    if (home_ == &current) {
        return;
    }
    if (home_ != nullptr) {
        throw invalid_state("http::client: the client belongs to another loop");
    }
    auto* const driver = dynamic_cast<fd_driver*>(&current.get_driver());
    if (driver == nullptr) {
        throw loop_error(std::string("http::client: the loop's driver '") +
                         current.get_driver().name() + "' does not support sockets");
    }
    initialise_curl();
    multi_ = curl_multi_init();
    if (multi_ == nullptr) {
        throw std::bad_alloc();
    }
    try {
        current.service<registry>().add(*this);
    } catch (...) {
        curl_multi_cleanup(std::exchange(multi_, nullptr));
        throw;
    }
    home_ = &current;
    sockets_.bind(*driver);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    opened(multi_);
}

void curl_multi::shut_down() noexcept {
    if (home_ == nullptr) {
        return;
    }
    begin_call();
    curl_multi_cleanup(std::exchange(multi_, nullptr));
    end_call();
    if (is_armed()) {
        home_->disarm(*this);
    }
    sockets_.unbind();
    registry_->remove(*this);
    registry_ = nullptr;
    home_ = nullptr;
}

void curl_multi::add(CURL* easy) {
    begin_call();
    if (curl_multi_add_handle(multi_, easy) != CURLM_OK) {
        end_call();
        throw std::bad_alloc();
    }
    int running = 0;
    due_ = clock::time_point::max();
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    end_call();
}

void curl_multi::remove(CURL* easy) noexcept {
    begin_call();
    curl_multi_remove_handle(multi_, easy);
    end_call();
}

void curl_multi::pause(CURL* easy, int directions) noexcept {
    begin_call();
    curl_easy_pause(easy, directions);
    end_call();
}

int curl_multi::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) noexcept {
    try {
        static_cast<curl_multi*>(self)->sockets_.set_interest(fd, (what & CURL_POLL_IN) != 0,
                                                              (what & CURL_POLL_OUT) != 0);
        return 0;
    } catch (...) {
        return -1;  // out of memory
    }
}

// end_call() sets the timer.
int curl_multi::on_timer(CURLM*, long milliseconds, void* self) noexcept {
    auto& own = *static_cast<curl_multi*>(self);
    if (milliseconds < 0) {
        own.due_ = clock::time_point::max();
    } else if (milliseconds == 0) {
        own.due_ = own.called_at_;
    } else {
        own.due_ = weir::detail::after(own.home_->now(), std::chrono::milliseconds(milliseconds));
    }
    return 0;
}

void curl_multi::socket_ready() noexcept {
    if (!is_calling_) {
        call_at(home_->now());
    }
}

// A timer that is set for an earlier time stays: at worst it fires for nothing.
void curl_multi::call_at(clock::time_point when) noexcept {
    if (is_armed()) {
        if (deadline() <= when.time_since_epoch().count()) {
            return;
        }
        home_->disarm(*this);
    }
    home_->arm(*this, when);
}

void curl_multi::fire() noexcept {
    begin_call();
    sockets_.dispatch_ready(multi_, called_at_);
    if (due_ <= called_at_) {
        due_ = clock::time_point::max();
        int running = 0;
        curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    end_call();
}

void curl_multi::begin_call() noexcept {
    is_calling_ = true;
    called_at_ = home_->now();
}

void curl_multi::end_call() noexcept {
    report_ended();
    sockets_.update_watches();
    is_calling_ = false;
    const clock::time_point next = sockets_.has_ready() ? home_->now() : due_;
    if (next != clock::time_point::max()) {
        call_at(next);
    }
}

void curl_multi::report_ended() noexcept {
    int left = 0;
    while (CURLMsg* const message =
               multi_ == nullptr ? nullptr : curl_multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE) {
            CURL* const easy = message->easy_handle;
            const CURLcode result = message->data.result;
            curl_multi_remove_handle(multi_, easy);
            transfer_ended(easy, result);
        }
    }
}

}  // namespace weir::http::detail
