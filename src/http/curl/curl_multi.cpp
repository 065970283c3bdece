// SPDX-License-Identifier: MIT
// libcurl says which sockets it wants to read or write (on_socket) and when to call it at the
// latest (on_timer); it is given the sockets that are ready. A watch that fires only notes its
// socket and makes the timer due: libcurl is called from the timer, and from the fibers that add
// and remove transfers, never in the middle of the driver's work and never from its own callbacks.
//
// A request on a kept connection makes libcurl want its socket, and not want it again when the
// answer is there. Watches are brought in line only when libcurl has returned: one that has fired
// is disarmed already, so that such a request arms one watch and disarms none.

#include "http/curl/curl_multi.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <new>
#include <string>

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
        bound.listed_in_ = this;
    }
    void remove(curl_multi& gone) noexcept { std::erase(clients_, &gone); }

private:
    std::vector<curl_multi*> clients_;
};

namespace {

void start_curl() {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (started != CURLE_OK) {
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
        throw invalid_state("http::client: it belongs to another loop");
    }
    auto* const driver = dynamic_cast<fd_driver*>(&current.get_driver());
    if (driver == nullptr) {
        throw loop_error(std::string("http::client: the driver '") + current.get_driver().name() +
                         "' knows no sockets");
    }
    start_curl();
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
    driver_ = driver;
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
    enter();
    curl_multi_cleanup(std::exchange(multi_, nullptr));
    settle();
    if (is_armed()) {
        home_->disarm(*this);
    }
    ready_.clear();
    ports_.clear();
    sockets_.clear();
    listed_in_->remove(*this);
    listed_in_ = nullptr;
    home_ = nullptr;
    driver_ = nullptr;
}

// settle() follows.
void curl_multi::enter() noexcept {
    is_calling_ = true;
    called_at_ = home_->now();
}

void curl_multi::add(CURL* easy) {
    enter();
    if (curl_multi_add_handle(multi_, easy) != CURLM_OK) {
        settle();
        throw std::bad_alloc();
    }
    int running = 0;
    due_ = clock::time_point::max();
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    settle();
}

void curl_multi::remove(CURL* easy) noexcept {
    enter();
    curl_multi_remove_handle(multi_, easy);
    settle();
}

void curl_multi::pause(CURL* easy, int what) noexcept {
    enter();
    curl_easy_pause(easy, what);
    settle();
}

int curl_multi::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) noexcept {
    try {
        static_cast<curl_multi*>(self)->want(fd, (what & CURL_POLL_IN) != 0,
                                             (what & CURL_POLL_OUT) != 0);
        return 0;
    } catch (...) {
        return -1;  // no memory
    }
}

void curl_multi::want(int fd, bool readable, bool writable) {
    watched_socket& entry = socket(fd);
    entry.reading.is_wanted = readable;
    entry.writing.is_wanted = writable;
    note_change(entry);
}

void curl_multi::note_change(watched_socket& of) noexcept {
    if (!of.is_changed) {
        of.is_changed = true;
        changed_.push_back(&of);
    }
}

void curl_multi::update(watched_socket& of, readiness which, direction& watched) noexcept {
    if (watched.is_watched && !watched.is_wanted) {
        driver_->unwatch(of.fd, which);
        watched.is_watched = false;
    } else if (watched.is_wanted && !watched.is_watched) {
        try {
            driver_->watch(of.fd, which, watched);
            watched.is_watched = true;
        } catch (...) {
            // Cannot be watched: libcurl finds out why when it tries.
            watched.fd_ready();
        }
    }
}

void curl_multi::direction::fd_ready() noexcept {
    is_watched = false;
    curl_multi& owner = *of->owner;
    if (!of->is_listed) {
        of->is_listed = true;
        owner.ready_.push_back(of);
    }
    of->ready |= this == &of->reading ? CURL_CSELECT_IN : CURL_CSELECT_OUT;
    if (!owner.is_calling_) {
        owner.wake_up(owner.home_->now());
    }
}

int curl_multi::on_timer(CURLM*, long milliseconds, void* self) noexcept {
    auto& owner = *static_cast<curl_multi*>(self);
    if (milliseconds < 0) {
        owner.due_ = clock::time_point::max();
        return 0;
    }
    owner.due_ = milliseconds == 0 ? owner.called_at_
                                   : weir::detail::after(owner.home_->now(),
                                                         std::chrono::milliseconds(milliseconds));
    return 0;  // settle() sets the timer
}

// A timer that is armed for earlier stays so: at worst it comes for nothing.
void curl_multi::wake_up(clock::time_point when) noexcept {
    if (is_armed()) {
        if (deadline() <= when.time_since_epoch().count()) {
            return;
        }
        home_->disarm(*this);
    }
    home_->arm(*this, when);
}

void curl_multi::fire() noexcept {
    enter();
    int running = 0;
    // More may become ready meanwhile, which is for the next time.
    const std::size_t count = ready_.size();
    for (std::size_t i = 0; i < count; ++i) {
        watched_socket& each = *ready_[i];
        each.is_listed = false;
        const int what = std::exchange(each.ready, 0);
        if (what == 0) {
            continue;  // closed since
        }
        note_change(each);
        curl_multi_socket_action(multi_, each.fd, what, &running);
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(count));
    if (due_ <= called_at_) {
        due_ = clock::time_point::max();
        curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    settle();
}

void curl_multi::settle() noexcept {
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
    for (watched_socket* each : changed_) {
        each->is_changed = false;
        update(*each, readiness::readable, each->reading);
        update(*each, readiness::writable, each->writing);
    }
    changed_.clear();
    is_calling_ = false;
    const clock::time_point next = ready_.empty() ? due_ : home_->now();
    if (next != clock::time_point::max()) {
        wake_up(next);
    }
}

}  // namespace weir::http::detail
