// SPDX-License-Identifier: MIT
// queue_remover: removes a queue with its tasks, in steps.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::service::detail {

class queue_remover {
public:
    // Refers to the name.
    queue_remover(const std::string& name, bool with_pending) noexcept
        : name_(name), with_pending_(with_pending) {}

    // For a reader. False: there is nothing to remove, and finish() says why.
    bool begin(sql_session& session);
    // For a reader: the next tasks to remove. Looks at a bounded number of tasks.
    std::vector<std::int64_t> find(sql_session& session);
    bool is_at_end() const noexcept { return is_at_end_; }
    // For the writer. Returns how many it has removed, for count().
    std::size_t remove(sql_session& session, const std::vector<std::int64_t>& ids) const;
    void count(std::size_t removed) noexcept { removed_ += removed; }
    // For the writer: removes the queue, if it has no tasks.
    queue_removal finish(sql_session& session) const;

private:
    bool may_remove(std::uint64_t pending, std::uint64_t running) const noexcept {
        return running == 0 && (pending == 0 || with_pending_);
    }

    const std::string& name_;
    bool with_pending_;
    std::int64_t queue_ = 0;
    std::int64_t searched_to_ = 0;
    bool is_at_end_ = false;
    std::uint64_t removed_ = 0;
};

}  // namespace weir::service::detail
