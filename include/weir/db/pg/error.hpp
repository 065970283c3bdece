// SPDX-License-Identifier: MIT
// Errors of PostgreSQL.
#pragma once

#include <weir/db/error.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace weir::pg {

// The fields of an error as the server sends them; a field that it does not send is empty. Message
// and detail may contain values of the query: 'Key (id)=(5) already exists.'
struct error_fields {
    std::string sqlstate = {};  // "23505", as listed in appendix A of PostgreSQL's manual
    std::string severity = {};  // "ERROR", "FATAL", "PANIC"
    std::string message = {};
    std::string detail = {};
    std::string hint = {};    // a suggestion
    std::string schema = {};  // of the object that the error is about
    std::string table = {};
    std::string column = {};
    std::string constraint = {};  // "users_email_key"
};

// The server refused a query, or there is no server. what() is its message with the SQLSTATE,
// without the values in the message, so that it may be logged.
//
// advice(): yes if the query was rolled back and may succeed now (serialization failure, deadlock,
// lock not available, resources exhausted, the server shutting down or starting), if_harmless if it
// may have been performed or not, else no.
class error : public db::error {
public:
    // what() contains the beginning of the query, if it is given.
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

// There is no connection, or it was lost. advice() is if_harmless for a query that was sent, since
// the server may have performed it.
class connection_error : public error {
public:
    using error::error;
};

}  // namespace weir::pg
