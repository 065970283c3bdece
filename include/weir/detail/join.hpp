// SPDX-License-Identifier: MIT
// Waiting for the end of another fiber, or of several.
#pragma once

#include <weir/awaitable.hpp>

namespace weir::detail {

// Waiting for oneself would be for ever; for a fiber of another loop, a race between threads.
enum class join_mistake : unsigned char { none, awaits_itself, other_loop };
join_mistake check_join(const fiber& target) noexcept;
[[noreturn]] void throw_join_mistake(join_mistake made);

// A place in the ring of watches that a fiber notifies when it ends. A ring, and not a list with an
// end of its own, because a fiber has room for one pointer to it.
class end_watch : private list_link<> {
public:
    enum class role : unsigned char { forwarding_join, leaving_join, member };

    end_watch(const end_watch&) = delete;
    end_watch& operator=(const end_watch&) = delete;

    fiber& target() const noexcept { return *target_; }
    role kind() const noexcept { return role_; }
    using list_link::is_linked;
    void link() noexcept;  // notified in the order of linking
    void unlink() noexcept;
    // The watch that was linked last to this target; null if there is none.
    static end_watch* last_of(const fiber& target) noexcept;

protected:
    end_watch(fiber* target, role kind) noexcept : target_(target), role_(kind) {}
    ~end_watch() { unlink(); }

    fiber* target_;

private:
    friend void finish(fiber&) noexcept;
    void target_ended() noexcept;

    role role_;
};

// co_await of a handle. A forwarding join passes cancellation on to the target and continues when
// that has ended, as asyncio does; a plain one just leaves.
class join_operation : public operation, public end_watch {
public:
    enum class mode : unsigned char { forward, leave };

    join_operation(fiber& target, mode kind) noexcept
        : end_watch(&target, kind == mode::forward ? role::forwarding_join : role::leaving_join) {
        target.retain();
    }
    join_operation(join_operation&& unawaited) noexcept
        : operation(std::move(unawaited)), end_watch(unawaited.target_, unawaited.kind()) {
        target_->retain();
    }
    ~join_operation() {
        unlink();
        target_->release();
    }

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "join"; }

    fiber* forwards_to() noexcept override {
        return kind() == role::forwarding_join ? target_ : nullptr;
    }

protected:
    void check_await() const {
        if (mistake_ != join_mistake::none) [[unlikely]] {
            throw_join_mistake(mistake_);
        }
    }

private:
    friend class end_watch;
    void go_on() noexcept;

    join_mistake mistake_ = join_mistake::none;
};

// One of several fibers that an owner waits for at once. The owner keeps the fibers alive.
class member_watch final : public end_watch {
public:
    class owner {
    public:
        virtual void member_ended(member_watch& ended) noexcept = 0;

    protected:
        ~owner() = default;
    };

    member_watch() noexcept : end_watch(nullptr, role::member) {}
    void assign(fiber& target) noexcept { target_ = &target; }
    void link_for(owner& watcher) noexcept {
        owner_ = &watcher;
        link();
    }
    // Links, unless the owner watches the target already: then this one is a repetition.
    void link_once(owner& watcher) noexcept;
    bool is_repetition() const noexcept { return owner_ == nullptr; }

private:
    friend class end_watch;
    owner* owner_ = nullptr;
};

}  // namespace weir::detail
