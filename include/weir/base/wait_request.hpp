// SPDX-License-Identifier: MIT
// An awaitable that makes its operation only when it has to wait.
//
// A free lock is taken without an operation. A lock that is held has the awaiter make the operation
// inside itself, where most fields are written once, with their final values. As the awaiter needs
// no pointer to the operation, a fiber that was granted the lock finds it with one access to memory
// less; such accesses, each of which waits for the one before, limit how fast a lock is handed on.
//
//     class WEIR_MUST_AWAIT lock_operation final : public operation {
//         using primitive = mutex;                  // what it waits for
//         explicit lock_operation(mutex&) noexcept; // may pass set_later() to its bases
//         mutex& from() const noexcept;
//         void finish();                            // as resume(); nothing is left to undo then
//         static bool take(mutex&) noexcept;        // without waiting
//         static mutex::guard result(mutex&) noexcept;
//     };
//     wait_request<lock_operation> mutex::lock();
#pragma once

#include <weir/awaitable.hpp>

#include <new>

namespace weir {

namespace detail {

template <class Operation>
class WEIR_MUST_AWAIT wait_request final : public awaited_here {
    using primitive = typename Operation::primitive;

public:
    using is_light = void;
    using waiting_operation = Operation;

    explicit wait_request(primitive& from) noexcept : from_(&from) {}
    primitive& from() const noexcept { return *from_; }
    // For its type, which is that of the await.
    auto resume() const { return Operation::result(*from_); }

private:
    primitive* from_;
};

}  // namespace detail

template <class Operation>
class leaf_awaiter<detail::wait_request<Operation>> {
public:
    explicit leaf_awaiter(const detail::wait_request<Operation>& request) noexcept
        : from_(&request.from()) {}
    leaf_awaiter(const leaf_awaiter&) = delete;
    leaf_awaiter& operator=(const leaf_awaiter&) = delete;
    ~leaf_awaiter() {
        if (from_ == nullptr) [[unlikely]] {
            waiting_.~Operation();
        }
    }

    bool await_ready() noexcept {
        detail::thread_state& thread = detail::this_thread;
        if (thread.budget <= 0 || !Operation::take(*from_)) {
            return false;
        }
        --thread.budget;
        return true;
    }
    bool await_suspend(std::coroutine_handle<> self) noexcept {
        typename Operation::primitive& from = *from_;
        from_ = nullptr;
        return leaf_awaiter<Operation>(*::new (static_cast<void*>(&waiting_)) Operation(from))
            .await_suspend(self);
    }
    decltype(auto) await_resume() {
        if (from_ == nullptr) {
            // Idle after this, so that nothing is left for the destructor.
            from_ = &waiting_.from();
            waiting_.finish();
        }
        return Operation::result(*from_);
    }

private:
    typename Operation::primitive* from_;  // null while the operation exists
    union {
        Operation waiting_;
    };
};

}  // namespace weir
