// SPDX-License-Identifier: MIT
// A call enters its lane's queue when it is awaited, runs on the lane's thread, and comes back as
// mail.

#include "db/sqlite/connection.hpp"
#include "db/sqlite/lane.hpp"

#include <weir/base/fault_point.hpp>
#include <weir/db/sqlite/detail/call.hpp>
#include <weir/db/sqlite/error.hpp>
#include <weir/loop.hpp>

namespace weir::sqlite::detail {

namespace {

bool contains(const void* value, transaction_id transaction) noexcept {
    if (value == nullptr) {
        return false;
    }
    const auto* each =
        static_cast<const std::shared_ptr<const enclosing_transaction>*>(value)->get();
    while (each != nullptr && each->id != transaction) {
        each = each->outer.get();
    }
    return each != nullptr;
}

}  // namespace

transaction_id transaction_id::fresh() noexcept {
    static std::atomic<std::uint64_t> last{1};
    return transaction_id(++last);
}

enclosing_transactions& transactions_around() noexcept {
    static enclosing_transactions all;
    return all;
}

bool is_running_inside(transaction_id transaction) noexcept {
    return contains(weir::detail::find_value(&transactions_around()), transaction);
}

bool call_base::start() noexcept {
    if (weir::detail::fault_at(io_point::query, "sqlite").error != 0) {
        constexpr int input_output = 10;  // SQLITE_IOERR
        fail(std::make_exception_ptr(
            sqlite::error(input_output, "disk error (injected by a test)")));
        return false;
    }
    auto& home = static_cast<loop&>(waiter().home());
    mail_ = home.mail();
    home.expect_post();
    if (lane_->enter(*this)) {
        return true;
    }
    home.expected_post_came();
    return false;
}

bool call_base::cancel() noexcept {
    if (lane_->withdraw(*this)) {
        static_cast<loop&>(waiter().home()).expected_post_came();
        return true;
    }
    return false;
}

bool call_base::is_inside(transaction_id transaction) const noexcept {
    // The waiting fiber need not be the running one: the loop may start a call.
    return contains(weir::detail::find_value_of(waiter(), &transactions_around()), transaction);
}

void call_base::run_on(connection& on) noexcept {
    on.watch(&is_stopped_);
    on.expect_transaction(on.is_in_transaction());
    session here(on);
    perform(here);
    on.expect_transaction(false);
    on.watch(nullptr);
}

void call_base::finish() noexcept {
    weir::detail::send_mail(mail_, *this);
}

void call_base::arrive(loop& at) noexcept {
    at.expected_post_came();
    complete();
}

}  // namespace weir::sqlite::detail
