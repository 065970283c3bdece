// SPDX-License-Identifier: MIT
// What goes wrong with PostgreSQL.
#pragma once

#include <weir/db/error.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace weir::pg {

// What the server tells about an error; what it does not tell is empty. Its message and detail may
// hold values that were sent: 'Key (id)=(5) already exists.'
struct error_fields {
    std::string sqlstate = {};  // "23505", as listed in appendix A of PostgreSQL's manual
    std::string severity = {};  // "ERROR", "FATAL", "PANIC"
    std::string message = {};
    std::string detail = {};
    std::string hint = {};    // what to do about it
    std::string schema = {};  // where the thing is that it is about, if it is one
    std::string table = {};
    std::string column = {};
    std::string constraint = {};  // "users_email_key"
};

// The server has refused a query, or there is none. what() is its message with the SQLSTATE; values
// in the message are left out there, so that it may go to a log.
//
// advice(): yes for what was undone and may go well now (serialization failure, deadlock, lock not
// available, resources exhausted, the server going down or coming up), if_harmless where nobody
// knows whether it was done, no for all others.
class error : public db::error {
public:
    // The query, if given, is named in what(): its beginning.
    explicit error(error_fields fields, std::string_view query = {});
    error(const std::string& what, db::retry_advice advice);

    std::string_view sqlstate() const noexcept { return fields_->sqlstate; }
    std::string_view severity() const noexcept { return fields_->severity; }
    std::string_view message() const noexcept { return fields_->message; }
    std::string_view detail() const noexcept { return fields_->detail; }
    std::string_view hint() const noexcept { return fields_->hint; }
    std::string_view table() const noexcept { return fields_->table; }
    std::string_view column() const noexcept { return fields_->column; }
    std::string_view constraint() const noexcept { return fields_->constraint; }
    const error_fields& fields() const noexcept { return *fields_; }

private:
    std::shared_ptr<const error_fields> fields_;  // an exception is copied without throwing
};

// There is no connection, or it was lost. A query that was sent already may have been done:
// advice() is if_harmless then.
class connection_error : public error {
public:
    using error::error;
};

}  // namespace weir::pg
