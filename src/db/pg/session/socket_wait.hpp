// SPDX-License-Identifier: MIT
// Where a session's task sleeps: until its socket is ready, or until it is woken.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/driver.hpp>

#include <utility>

namespace weir::pg::detail {

class socket_wait {
public:
    socket_wait() noexcept
        : reader_(*this, readiness::readable), writer_(*this, readiness::writable) {}
    socket_wait(const socket_wait&) = delete;
    socket_wait& operator=(const socket_wait&) = delete;

    // Before all else. Throws loop_error if the driver of the running loop cannot watch
    // descriptors.
    void open(int descriptor);
    void wake() noexcept;
    // A wake that came before this is forgotten.
    void begin_turn() noexcept { is_woken_ = false; }
    // Whether there may be data to read; resets the flag.
    bool take_readable() noexcept { return std::exchange(is_readable_, false); }
    void set_readable() noexcept { is_readable_ = true; }
    // The socket is not watched until the next wait.
    void unwatch() noexcept;

    enum class interest : unsigned char { none, read, read_and_write };
    // co_await next(interest): false if the socket cannot be watched. A watch stays armed when the
    // wait ends for another reason, so a busy connection arms it once for each time that it fires.
    class [[nodiscard]] operation final : public weir::operation {
    public:
        operation(socket_wait& owner, interest wanted) noexcept : owner_(owner), wanted_(wanted) {}
        operation(operation&& unawaited) noexcept
            : weir::operation(), owner_(unawaited.owner_), wanted_(unawaited.wanted_) {}

        bool ready() noexcept override { return owner_.is_woken_; }
        bool start() noexcept override;
        bool cancel() noexcept override {
            owner_.waiting_ = nullptr;
            return true;
        }
        const char* name() const noexcept override { return "pg.session"; }
        bool resume() const noexcept { return !has_failed_; }

    private:
        friend class socket_wait;
        socket_wait& owner_;
        interest wanted_;
        bool has_failed_ = false;
    };
    operation next(interest wanted) noexcept { return {*this, wanted}; }

private:
    struct watch final : fd_watch {
        watch(socket_wait& owner, readiness direction) noexcept
            : owner(owner), direction(direction) {}
        void fd_ready() noexcept override;
        socket_wait& owner;
        readiness direction;
        bool is_armed = false;
    };
    void arm(watch& which);
    void disarm(watch& which) noexcept;

    fd_driver* driver_ = nullptr;
    int descriptor_ = -1;
    watch reader_;
    watch writer_;
    operation* waiting_ = nullptr;
    bool is_woken_ = false;
    bool is_readable_ = false;
};

}  // namespace weir::pg::detail
