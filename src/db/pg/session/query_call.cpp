// SPDX-License-Identifier: MIT
// A query belongs to the frame that awaits it. The line it waits in, or the entry of what was sent,
// refers to it; a stop undoes that, and nothing else.

#include "db/pg/values/server_error.hpp"
#include "db/pg/session/session.hpp"

#include <weir/db/pg/detail/query_call.hpp>
#include <weir/error.hpp>

#include <libpq-fe.h>

namespace weir::pg::detail {

void query_list::push_back(query_call& added) noexcept {
    added.list_ = this;
    added.session_ = of_;
    added.next_ = nullptr;
    added.previous_ = last_;
    (last_ != nullptr ? last_->next_ : first_) = &added;
    last_ = &added;
    ++size_;
}

void query_list::remove(query_call& gone) noexcept {
    (gone.previous_ != nullptr ? gone.previous_->next_ : first_) = gone.next_;
    (gone.next_ != nullptr ? gone.next_->previous_ : last_) = gone.previous_;
    gone.list_ = nullptr;
    --size_;
}

query_call* query_list::pop_front() noexcept {
    query_call* const taken = first_;
    if (taken != nullptr) {
        remove(*taken);
    }
    return taken;
}

void query_list::prepend(query_list& others) noexcept {
    query_list own;
    while (query_call* const each = pop_front()) {
        own.push_back(*each);
    }
    for (query_list* const from : {&others, &own}) {
        while (query_call* const each = from->pop_front()) {
            push_back(*each);
        }
    }
}

query_call::query_call(std::shared_ptr<query_target> target, std::string sql,
                       std::vector<parameter> parameters, bool is_prepared)
    : target_(std::move(target)),
      sql_(std::move(sql)),
      parameters_(std::move(parameters)),
      is_prepared_(is_prepared) {
    if (sql_.find('\0') != std::string::npos) {
        throw invalid_argument("pg: there is a NUL in the SQL, where it would be cut");
    }
}

bool query_call::start() noexcept {
    return target_->enter(*this);
}

bool query_call::cancel() noexcept {
    if (list_ != nullptr) {
        list_->remove(*this);
        if (session_ != nullptr) {
            session_->wake();
        }
    } else if (entry_ != nullptr) {
        session_->abandon(*this);
    }
    return true;
}

void query_call::succeed(pg_result* answer) noexcept {
    result_ = std::shared_ptr<const pg_result>(
        answer, [](const pg_result* held) { PQclear(const_cast<pg_result*>(held)); });
    failure_ = nullptr;
    complete();
}

void query_call::fail(std::exception_ptr why) noexcept {
    failure_ = std::move(why);
    entry_ = nullptr;
    complete();
}

rows query_call::take() {
    if (failure_ != nullptr) {
        std::rethrow_exception(failure_);
    }
    return rows(std::move(result_));
}

std::string command_call::resume() {
    std::string tag;
    if (result() != nullptr) {
        tag = PQcmdStatus(const_cast<pg_result*>(result()));
    }
    static_cast<void>(take());
    return tag;
}

}  // namespace weir::pg::detail
