// SPDX-License-Identifier: MIT
// A line of calls before one or more threads, each with a connection of its own. A call lives in
// the frame that awaits it, is what the lane queues, and what is mailed to the loop: no call
// allocates for that.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/mail.hpp>
#include <weir/base/result.hpp>
#include <weir/db/sqlite/session.hpp>
#include <weir/local.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir::sqlite::detail {

class lane;

// Which calls belong together: those of one transaction that is open between them.
class owner {
public:
    owner() noexcept = default;  // a transaction for each call
    static owner fresh() noexcept;
    static owner nobody() noexcept { return owner(1); }  // no transaction
    friend bool operator==(const owner&, const owner&) = default;

private:
    explicit owner(std::uint64_t number) noexcept : number_(number) {}
    std::uint64_t number_ = 0;
};

// The transactions in whose bodies a task runs, or was started: a call that would wait for one of
// these to end would wait for itself.
struct open_transaction {
    owner own;
    std::shared_ptr<const open_transaction> outer;
};
using open_transactions = weir::local<std::shared_ptr<const open_transaction>>;
open_transactions& transactions_around() noexcept;

class call_base : public operation, private weir::detail::mail_item {
public:
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "sqlite"; }

protected:
    explicit call_base(std::shared_ptr<lane> to, owner of, bool is_synced) noexcept
        : lane_(std::move(to)), owner_(of), is_synced_(is_synced) {}
    call_base(call_base&& unawaited) noexcept
        : operation(),
          mail_item(),
          lane_(std::move(unawaited.lane_)),
          owner_(unawaited.owner_),
          is_synced_(unawaited.is_synced_) {}
    ~call_base() = default;

private:
    friend class lane;
    enum class stage : unsigned char { outside, queued, taken };

    // On the lane's thread; may come again, after a transaction that was undone.
    virtual void perform(session& on) noexcept = 0;
    virtual void fail(std::exception_ptr error) noexcept = 0;
    virtual std::exception_ptr error() const noexcept = 0;
    void arrive(loop& at) noexcept override;
    bool is_inside(owner of) const noexcept;  // the body of that transaction

    std::shared_ptr<lane> lane_;
    owner owner_;
    bool is_synced_;  // on disk when it is reported
    call_base* next_ = nullptr;
    call_base* previous_ = nullptr;
    std::shared_ptr<weir::detail::inbox> mail_;
    stage stage_ = stage::outside;         // guarded by the lane
    std::atomic<bool> stop_asked_{false};  // seen by SQLite while it runs
};

template <class Function>
class [[nodiscard]] call final : public call_base {
    using value_type = std::invoke_result_t<Function&, session&>;

public:
    call(std::shared_ptr<lane> to, Function function, owner of = {}, bool is_synced = true)
        : call_base(std::move(to), of, is_synced), function_(std::move(function)) {}
    call(call&& unawaited)
        : call_base(std::move(unawaited)), function_(std::move(unawaited.function_)) {}

    value_type resume() { return result_.take(); }

private:
    void perform(session& on) noexcept override {
        try {
            if constexpr (std::is_void_v<value_type>) {
                function_(on);
                result_.set_value();
            } else {
                result_.set_value(function_(on));
            }
        } catch (...) {
            result_.set_error(std::current_exception());
        }
    }
    void fail(std::exception_ptr error) noexcept override { result_.set_error(std::move(error)); }
    std::exception_ptr error() const noexcept override { return result_.error(); }

    Function function_;
    weir::detail::result<value_type> result_;
};

}  // namespace weir::sqlite::detail
