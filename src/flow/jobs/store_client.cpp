// SPDX-License-Identifier: MIT
// After a call that threw, the stored record decides: one with our token and revision is ours, so
// the call took effect; any other record is a conflict; none at all, or the one before, means that
// the call is made again. The delay between attempts doubles, up to 30 seconds.

#include "flow/jobs/store_client.hpp"

#include <weir/cancel.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::detail {

void store_client::count_error() noexcept {
    ++errors_;
    reporter_.report("store_error");
}

task<void> store_client::pause_before_retry(unsigned attempt) {
    const clock::duration longest =
        std::max<clock::duration>(first_delay_, std::chrono::seconds(30));
    clock::duration delay = first_delay_;
    for (unsigned i = 1; i < attempt && delay < longest; ++i) {
        delay *= 2;
    }
    co_await sleep(std::min(delay, longest));
}

task<outcome<std::optional<managed_task>>> store_client::look_up(const std::string& id) {
    for (unsigned attempt = 1;; ++attempt) {
        outcome<std::optional<managed_task>> stored =
            co_await settle([&] { return store_.get(id); });
        if (!stored.has_value()) {
            count_error();
            if (attempt < attempts_) {
                co_await pause_before_retry(attempt);
                continue;
            }
        }
        co_return stored;
    }
}

task<bool> store_client::insert(const managed_task& fresh) {
    bool is_uncertain = false;  // an attempt threw: it may have taken effect
    for (unsigned attempt = 1;; ++attempt) {
        const outcome<bool> inserted = co_await settle([&] { return store_.insert(fresh); });
        if (inserted.has_value() && (inserted.value() || !is_uncertain)) {
            co_return inserted.value();
        }
        if (!inserted.has_value()) {
            is_uncertain = true;
            count_error();
        }
        const outcome<std::optional<managed_task>> stored = co_await look_up(fresh.id);
        if (stored.has_value() && stored.value().has_value()) {
            co_return stored.value()->token == fresh.token;
        }
        if (attempt >= attempts_ || !stored.has_value()) {
            (void)co_await settle([&] { return store_.remove(fresh); });  // in case it was stored
            const std::exception_ptr error =
                inserted.has_value() ? stored.error() : inserted.error();
            if (error == nullptr) {
                co_return false;  // the id was taken at first, and its record is gone since
            }
            std::rethrow_exception(error);
        }
        co_await pause_before_retry(attempt);
    }
}

task<store_client::write_result> store_client::transition(const managed_task& next,
                                                          task_state expected) {
    bool is_uncertain = false;
    for (unsigned attempt = 1;; ++attempt) {
        const outcome<bool> written =
            co_await settle([&] { return store_.transition(next, expected); });
        if (written.has_value() && (written.value() || !is_uncertain)) {
            co_return write_result(written.value() ? write_status::stored : write_status::conflict);
        }
        if (!written.has_value()) {
            is_uncertain = true;
            count_error();
        }
        const outcome<std::optional<managed_task>> found = co_await look_up(next.id);
        if (found.has_value()) {
            const std::optional<managed_task>& stored = found.value();
            if (stored.has_value() && stored->token == next.token &&
                stored->revision == next.revision && stored->state == next.state) {
                co_return write_result(write_status::stored);
            }
            if (written.has_value()) {
                co_return write_result(write_status::conflict);
            }
        }
        if (attempt >= attempts_ || !found.has_value()) {
            co_return write_result(write_status::failed,
                                   written.has_value() ? found.error() : written.error());
        }
        co_await pause_before_retry(attempt);
    }
}

task<void> store_client::save_progress(const managed_task& running) {
    const outcome<void> saved = co_await settle([&] { return store_.save_progress(running); });
    if (!saved.has_value()) {
        count_error();
    }
}

task<bool> store_client::remove(const managed_task& finished) {
    const outcome<bool> removed = co_await settle([&] { return store_.remove(finished); });
    if (!removed.has_value()) {
        count_error();
    }
    co_return removed.has_value();
}

}  // namespace weir::detail
