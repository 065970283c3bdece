// SPDX-License-Identifier: MIT
// A call that a thread of the database performs. It lives in the frame that awaits it, its lane
// queues it, and it is mailed back to the loop: no call allocates for that.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/intrusive_list.hpp>
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

// The transaction that a call belongs to.
class transaction_id {
public:
    transaction_id() noexcept = default;  // one of its own, which may share a commit with others
    // A transaction that stays open between calls.
    static transaction_id fresh() noexcept;
    // No transaction.
    static transaction_id none() noexcept { return transaction_id(1); }

    bool is_own() const noexcept { return number_ == 0; }
    friend bool operator==(const transaction_id&, const transaction_id&) = default;

private:
    explicit transaction_id(std::uint64_t number) noexcept : number_(number) {}
    std::uint64_t number_ = 0;
};

// The transactions in whose bodies a task runs, or was started: a call that waits for one of these
// to end would wait for itself.
struct enclosing_transaction {
    transaction_id id;
    std::shared_ptr<const enclosing_transaction> outer;
};
using enclosing_transactions = weir::local<std::shared_ptr<const enclosing_transaction>>;
enclosing_transactions& transactions_around() noexcept;
// Whether the running task is inside the body of this transaction.
bool is_running_inside(transaction_id transaction) noexcept;

class call_base : public operation,
                  public weir::detail::list_link<>,
                  private weir::detail::mail_item {
public:
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "sqlite"; }

    // For the lane and its threads.
    transaction_id transaction() const noexcept { return transaction_; }
    bool is_synced() const noexcept { return is_synced_; }
    // Whether its task is inside the body of this transaction.
    bool is_inside(transaction_id transaction) const noexcept;
    // Set when its task was stopped; SQLite looks at it while it runs.
    std::atomic<bool>& stop_flag() noexcept { return is_stopped_; }
    bool is_stopped() const noexcept { return is_stopped_.load(); }
    // On the lane's thread; may come again, after a transaction that was rolled back.
    void run_on(connection& on) noexcept;
    virtual void fail(std::exception_ptr error) noexcept = 0;
    virtual std::exception_ptr error() const noexcept = 0;
    // Mails it to its loop: the last access by the lane.
    void finish() noexcept;

protected:
    call_base(std::shared_ptr<lane> to, transaction_id transaction, bool is_synced) noexcept
        : lane_(std::move(to)), transaction_(transaction), is_synced_(is_synced) {}
    call_base(call_base&& unawaited) noexcept
        : operation(),
          list_link(),
          mail_item(),
          lane_(std::move(unawaited.lane_)),
          transaction_(unawaited.transaction_),
          is_synced_(unawaited.is_synced_) {}
    ~call_base() = default;

private:
    friend class call_queue;
    enum class stage : unsigned char { outside, queued, taken };

    virtual void perform(session& on) noexcept = 0;
    void arrive(loop& at) noexcept override;

    std::shared_ptr<lane> lane_;
    transaction_id transaction_;
    bool is_synced_;                // on disk when it is reported
    stage stage_ = stage::outside;  // guarded by the queue
    std::atomic<bool> is_stopped_{false};
    std::shared_ptr<weir::detail::inbox> mail_;
};

template <class Function>
class WEIR_MUST_AWAIT call final : public call_base {
    using value_type = std::invoke_result_t<Function&, session&>;

public:
    call(std::shared_ptr<lane> to, Function function, transaction_id transaction = {},
         bool is_synced = true)
        : call_base(std::move(to), transaction, is_synced), function_(std::move(function)) {}
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
