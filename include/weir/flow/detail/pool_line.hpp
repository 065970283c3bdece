// SPDX-License-Identifier: MIT
// The line of tasks that wait for an object of a pool, first come, first served.
#pragma once

#include <weir/base/wait_list.hpp>
#include <weir/flow/detail/pool_entry.hpp>
#include <weir/refusal.hpp>

#include <exception>
#include <source_location>
#include <utility>

namespace weir::detail {

// An operation that waits for an object, and what it gets: an object, a refusal or an error.
class pool_request : public listed_operation {
protected:
    explicit pool_request(const std::source_location& where) noexcept : where_(where) {}
    pool_request(pool_request&& unawaited) noexcept
        : listed_operation(std::move(unawaited)), where_(unawaited.where_) {}
    ~pool_request() = default;

    pool_entry* entry_ = nullptr;
    refusal refusal_;
    std::exception_ptr error_;
    std::source_location where_;

private:
    friend class pool_line;
    clock::time_point entered_;
    clock::time_point deadline_ = clock::time_point::max();
};

class pool_line {
public:
    bool has_waiting() const noexcept { return list_.has_waiting(); }
    std::size_t size() const noexcept { return waiting_; }  // that still wait
    void check_thread(const char* what) const { list_.check_thread(what); }

    // False: the line belongs to another loop.
    bool enter(pool_request& last, clock::time_point now, clock::time_point deadline) noexcept;
    void refuse_newcomer(pool_request& newcomer, const refusal& reason) noexcept {
        newcomer.refusal_ = reason;
    }
    // Of the first that waits: there must be one.
    clock::time_point first_deadline() const noexcept { return first().deadline_; }
    const std::source_location& first_place() const noexcept { return first().where_; }
    void grant_first(pool_entry& entry) noexcept;
    void refuse_first(const refusal& reason, std::exception_ptr error = nullptr) noexcept;
    std::size_t refuse_all(const refusal& reason) noexcept;  // how many

    static clock::time_point begin_of(const pool_request& wait) noexcept { return wait.entered_; }

    void leave(pool_request& waiting) noexcept;
    // It leaves the line with what it was granted: to use it, or, unused, to give it back.
    pool_entry& leave_granted(pool_request& granted) noexcept {
        list_.remove_granted(granted);
        return *granted.entry_;
    }

private:
    pool_request& first() const noexcept {
        return static_cast<pool_request&>(wait_list::at(list_.first_waiting()));
    }

    wait_list list_;
    std::size_t waiting_ = 0;
};

}  // namespace weir::detail
