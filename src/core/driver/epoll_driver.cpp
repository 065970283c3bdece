// SPDX-License-Identifier: MIT
// epoll and an eventfd. The eventfd is written only when the loop is about to sleep or sleeps, and
// once: loop::post ensures that. Timers need no descriptor: they are the timeout of the wait.
//
// A watch is level-triggered and armed anew for each wait, a source edge-triggered and registered
// once. Sources may be detached, and destroyed, while a batch of events is handed out: their
// remaining entries in the batch are cleared.

#include "base/brief_spin.hpp"
#include "base/wait_pacing.hpp"

#include <weir/driver.hpp>
#include <weir/error.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace weir {

namespace {

constexpr std::int64_t second = 1'000'000'000;

std::system_error failure(const char* what) {
    return {errno, std::system_category(), what};
}

class epoll_driver final : public fd_driver {
public:
    epoll_driver() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        if (epoll_ < 0) {
            throw failure("epoll_create1");
        }
        event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        wanted.data.u64 = tag_of(event_);
        if (event_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, event_, &wanted) != 0) {
            const std::system_error error = failure("eventfd");
            close_all();
            throw error;
        }
    }
    ~epoll_driver() override { close_all(); }

    const char* name() const noexcept override { return "epoll"; }
    bool has_sources() const noexcept override { return source_count_ > 0 || !watches_.empty(); }
    bool wakes_from_signals() const noexcept override { return true; }
    int fd() const noexcept override { return epoll_; }

    std::int64_t now() noexcept override { return detail::monotonic_nanoseconds(); }

    void wait(std::int64_t deadline) override {
        batch_size_ = wait_for_events(deadline);
        for (int index = 0; index < batch_size_; ++index) {
            const epoll_event& each = batch_[static_cast<std::size_t>(index)];
            if (each.data.u64 == tag_of(event_)) {
                std::uint64_t ignored = 0;
                [[maybe_unused]] const auto got = ::read(event_, &ignored, sizeof ignored);
            } else if ((each.data.u64 & 1) != 0) {
                dispatch(static_cast<int>(each.data.u64 >> 1), each.events);
            } else if (each.data.ptr != nullptr) {
                tell(*static_cast<fd_source*>(each.data.ptr), each.events);
            }
        }
        batch_size_ = 0;
    }

    void wake() noexcept override {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto put = ::write(event_, &one, sizeof one);
    }

    void watch(int fd, readiness direction, fd_watch& watcher) override {
        watched& entry = watches_[fd];
        fd_watch*& place = entry[direction];
        if (place != nullptr) {
            throw invalid_state("a task waits for this direction of file descriptor " +
                                std::to_string(fd) + " already");
        }
        place = &watcher;
        if (!update(fd, entry)) {
            const std::system_error error = failure("epoll_ctl");
            place = nullptr;
            forget_if_idle(fd, entry);
            throw error;
        }
    }

    bool unwatch(int fd, readiness direction) noexcept override {
        const auto found = watches_.find(fd);
        if (found == watches_.end() || found->second[direction] == nullptr) {
            return false;
        }
        found->second[direction] = nullptr;
        update(fd, found->second);
        forget_if_idle(fd, found->second);
        return true;
    }

    int attach(int fd, fd_source& source) noexcept override {
        if (!register_source(EPOLL_CTL_ADD, fd, source)) {
            return errno;
        }
        ++source_count_;
        return 0;
    }

    void report_again(int fd, fd_source& source) noexcept override {
        register_source(EPOLL_CTL_MOD, fd, source);
    }

    void detach(int fd, fd_source& source) noexcept override {
        --source_count_;
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
        for (int index = 0; index < batch_size_; ++index) {
            epoll_event& each = batch_[static_cast<std::size_t>(index)];
            if (each.data.ptr == &source) {
                each.data.ptr = nullptr;
            }
        }
    }

private:
    // Beside the pointers to sources, which are even.
    static constexpr std::uint64_t tag_of(int fd) noexcept {
        return static_cast<std::uint64_t>(fd) << 1 | 1;
    }

    bool register_source(int action, int fd, fd_source& source) noexcept {
        epoll_event wanted{};
        wanted.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | std::uint32_t{EPOLLET};
        wanted.data.ptr = &source;
        return ::epoll_ctl(epoll_, action, fd, &wanted) == 0;
    }

    static void tell(fd_source& source, std::uint32_t events) noexcept {
        // Urgent data (EPOLLPRI) counts as an end: reading stops before it, and continues after it.
        constexpr std::uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;
        source.fd_changed((events & (EPOLLIN | ends)) != 0,
                          (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0, (events & ends) != 0);
    }

    struct watched {
        fd_watch* reader = nullptr;
        fd_watch* writer = nullptr;
        bool registered = false;
        fd_watch*& operator[](readiness direction) noexcept {
            return direction == readiness::readable ? reader : writer;
        }
    };

    int wait_for_events(std::int64_t deadline) {
        const std::int64_t pause = pacing_.pause_until(deadline);
        int count = 0;
        if (pause != 0 && has_sources() && spin_.is_due() &&
            spin_.until([&] { return (count = epoll_wait_nanoseconds(0)) > 0; },
                        pause < 0 ? INT64_MAX : pause)) {
            return count;
        }
        count = epoll_wait_nanoseconds(pause);
        if (count == 0 && pause > 0) {
            pacing_.timer_woke();
        }
        return count;
    }

    int epoll_wait_nanoseconds(std::int64_t pause) {
        const int size = static_cast<int>(batch_.size());
        int count = -1;
        if (pause > 0 && precise_) {
            const timespec time{pause / second, pause % second};
            count = ::epoll_pwait2(epoll_, batch_.data(), size, &time, nullptr);
            if (count < 0 && (errno == ENOSYS || errno == EPERM)) {
                precise_ = false;  // a kernel before 5.11, or a sandbox that does not know the call
            }
        }
        if (pause <= 0 || !precise_) {
            const std::int64_t milliseconds = pause <= 0 ? pause : (pause + 999'999) / 1'000'000;
            count = ::epoll_wait(epoll_, batch_.data(), size,
                                 static_cast<int>(std::min<std::int64_t>(milliseconds, 3'600'000)));
        }
        if (count < 0 && errno != EINTR) {
            throw failure("epoll_wait");
        }
        return std::max(count, 0);
    }

    bool update(int fd, watched& entry) noexcept {
        epoll_event wanted{};
        wanted.data.u64 = tag_of(fd);
        wanted.events = (entry.reader != nullptr ? std::uint32_t{EPOLLIN} : 0) |
                        (entry.writer != nullptr ? std::uint32_t{EPOLLOUT} : 0);
        const int action = wanted.events == 0 ? EPOLL_CTL_DEL
                           : entry.registered ? EPOLL_CTL_MOD
                                              : EPOLL_CTL_ADD;
        bool done = ::epoll_ctl(epoll_, action, fd, &wanted) == 0;
        if (!done && action == EPOLL_CTL_MOD &&
            errno == ENOENT) {  // closed, and the number used again
            done = ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &wanted) == 0;
        }
        entry.registered = done && action != EPOLL_CTL_DEL;
        return done;
    }

    void forget_if_idle(int fd, const watched& entry) noexcept {
        if (entry.reader == nullptr && entry.writer == nullptr) {
            watches_.erase(fd);
        }
    }

    void dispatch(int fd, std::uint32_t events) {
        const auto found = watches_.find(fd);
        if (found == watches_.end()) {
            return;
        }
        fd_watch* reader = nullptr;
        fd_watch* writer = nullptr;
        if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
            reader = std::exchange(found->second.reader, nullptr);
        }
        if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
            writer = std::exchange(found->second.writer, nullptr);
        }
        update(fd, found->second);
        forget_if_idle(fd, found->second);
        if (reader != nullptr) {
            reader->fd_ready();
        }
        if (writer != nullptr) {
            writer->fd_ready();
        }
    }

    void close_all() noexcept {
        if (event_ >= 0) {
            ::close(event_);
        }
        ::close(epoll_);
    }

    int epoll_;
    int event_ = -1;
    bool precise_ = true;
    detail::wait_pacing pacing_;
    detail::brief_spin spin_;
    std::unordered_map<int, watched> watches_;
    std::size_t source_count_ = 0;
    std::array<epoll_event, 64> batch_;  // being handed out
    int batch_size_ = 0;
};

}  // namespace

std::unique_ptr<driver> make_epoll_driver() {
    return std::make_unique<epoll_driver>();
}

}  // namespace weir
