// SPDX-License-Identifier: MIT
// COPY over a session that is used alone. Rows are collected and handed to libpq a chunk at a time;
// its own buffer never grows, since each chunk is waited for. While COPY comes out, nothing is read
// before it is asked for, so the server waits for who is slow.

#include "db/pg/session/exclusive_use.hpp"
#include "db/pg/values/server_error.hpp"

#include <weir/db/pg/copy.hpp>
#include <weir/error.hpp>

#include <libpq-fe.h>

#include <charconv>
#include <exception>
#include <utility>

namespace weir::pg {

namespace {

using detail::alone;
using detail::result_ptr;

constexpr std::size_t chunk_size = 64 * 1024;

// The results of what is under way, to the end. Gives the first that failed.
task<result_ptr> rest_of(alone& on) {
    result_ptr failure;
    for (;;) {
        result_ptr next = co_await on.result();
        if (next == nullptr) {
            co_return std::move(failure);
        }
        const ExecStatusType status = PQresultStatus(next.get());
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
            // Another one: it would never end.
            throw error("pg: only one COPY at a time", db::retry_advice::no);
        }
        if (status == PGRES_FATAL_ERROR && failure == nullptr) {
            failure = std::move(next);
        }
    }
}

// Sends the COPY. Throws what the server says, or that it is none.
task<alone> begin_copy(std::shared_ptr<detail::session> session, const std::string& sql,
                       ExecStatusType wanted) {
    if (sql.find('\0') != std::string::npos) {
        throw invalid_argument("pg: there is a NUL in the SQL, where it would be cut");
    }
    alone on = co_await alone::begin(std::move(session));
    on.check(PQsendQuery(on.connection(), sql.c_str()));
    const result_ptr first = co_await on.result();
    const ExecStatusType status = PQresultStatus(first.get());
    if (status == wanted) {
        co_return std::move(on);
    }
    const bool is_other_copy = status == PGRES_COPY_IN || status == PGRES_COPY_OUT;
    if (!is_other_copy) {
        const result_ptr later = co_await rest_of(on);
        on.give_back();
    }
    if (status == PGRES_FATAL_ERROR) {
        std::rethrow_exception(detail::error_of(first.get(), sql));
    }
    throw error(wanted == PGRES_COPY_IN ? "pg: copy_in takes a COPY ... FROM STDIN"
                                        : "pg: copy_out takes a COPY ... TO STDOUT",
                db::retry_advice::no);
}

}  // namespace

copy_writer::copy_writer(detail::alone on, std::string sql)
    : on_(std::make_unique<alone>(std::move(on))), sql_(std::move(sql)) {}
copy_writer::copy_writer(copy_writer&&) noexcept = default;
copy_writer::~copy_writer() = default;

task<copy_writer> copy_writer::begin(std::shared_ptr<detail::session> on, std::string sql) {
    alone begun = co_await begin_copy(std::move(on), sql, PGRES_COPY_IN);
    co_return copy_writer(std::move(begun), std::move(sql));
}

// Of a row whose values could not all be written: who went on has none of it.
void copy_writer::drop_half_row() {
    if (std::exchange(is_in_row_, false)) {
        buffer_.resize(row_start_);
    }
}

void copy_writer::begin_row() {
    drop_half_row();
    row_start_ = buffer_.size();
    column_ = 0;
    is_in_row_ = true;
}

void copy_writer::add(const parameter& value) {
    if (++column_ > 1) {
        buffer_ += '\t';
    }
    if (const blob* const bytes = value.bytes()) {
        constexpr char digits[] = "0123456789abcdef";
        buffer_ += "\\\\x";
        for (const std::byte each : *bytes) {
            buffer_ += digits[std::to_integer<unsigned>(each) >> 4U];
            buffer_ += digits[std::to_integer<unsigned>(each) & 15U];
        }
        return;
    }
    const std::string* const text = value.text();
    if (text == nullptr) {
        buffer_ += "\\N";
        return;
    }
    for (const char each : *text) {
        switch (each) {
            case '\\':
                buffer_ += "\\\\";
                break;
            case '\t':
                buffer_ += "\\t";
                break;
            case '\n':
                buffer_ += "\\n";
                break;
            case '\r':
                buffer_ += "\\r";
                break;
            case '\0':
                throw db::mapping_error("value " + std::to_string(column_) +
                                        " of a row has a NUL inside, which no text of PostgreSQL "
                                        "may have: send bytes, for a bytea");
            default:
                buffer_ += each;
        }
    }
}

void copy_writer::end_row() {
    buffer_ += '\n';
    is_in_row_ = false;
}

task<> copy_writer::make_room() {
    if (buffer_.size() < chunk_size) {
        co_return;
    }
    if (is_broken_) {
        throw error("pg: what was written to the COPY before was stopped half-way, or failed",
                    db::retry_advice::no);
    }
    is_broken_ = true;  // unless it goes well
    std::size_t from = 0;
    while (from < buffer_.size()) {
        const std::size_t size = std::min(buffer_.size() - from, 16 * chunk_size);
        on_->check(PQputCopyData(on_->connection(), buffer_.data() + from, static_cast<int>(size)));
        co_await on_->flush();
        from += size;
    }
    buffer_.clear();
    is_broken_ = false;
}

task<std::uint64_t> copy_writer::end(bool is_good) {
    if (is_broken_) {
        throw error(
            "pg: what was written to the COPY was stopped half-way, or failed: all is undone",
            db::retry_advice::no);
    }
    drop_half_row();
    if (is_good && !buffer_.empty()) {
        on_->check(
            PQputCopyData(on_->connection(), buffer_.data(), static_cast<int>(buffer_.size())));
    }
    on_->check(PQputCopyEnd(on_->connection(), is_good ? nullptr : "the client gave up"));
    result_ptr done = co_await on_->result();
    result_ptr failure;
    if (PQresultStatus(done.get()) == PGRES_FATAL_ERROR) {
        failure = std::move(done);
    }
    result_ptr later = co_await rest_of(*on_);
    if (failure == nullptr) {
        failure = std::move(later);
    }
    on_->give_back();
    if (failure != nullptr && is_good) {
        std::rethrow_exception(detail::error_of(failure.get(), sql_));
    }
    std::uint64_t count = 0;
    if (done != nullptr) {
        const std::string_view text = PQcmdTuples(done.get());
        std::from_chars(text.data(), text.data() + text.size(), count);
    }
    co_return count;
}

namespace detail {

generator<std::string> copy_out(std::shared_ptr<session> on, std::string sql) {
    alone own = co_await begin_copy(std::move(on), sql, PGRES_COPY_OUT);
    std::string chunk;
    for (;;) {
        char* row = nullptr;
        const int size = PQgetCopyData(own.connection(), &row, 1);
        if (size > 0) {
            const std::unique_ptr<char, decltype(&PQfreemem)> held(row, &PQfreemem);
            chunk.append(row, static_cast<std::size_t>(size));
        }
        const bool is_full = chunk.size() >= chunk_size || (size <= 0 && !chunk.empty());
        if (is_full) {
            co_yield moved(chunk);
            chunk.clear();
        }
        if (size == 0) {
            co_await own.read();
        } else if (size == -1) {
            break;
        } else if (size < 0) {
            own.check(0);
        }
    }
    const result_ptr failure = co_await rest_of(own);
    own.give_back();
    if (failure != nullptr) {
        std::rethrow_exception(error_of(failure.get(), sql));
    }
}

}  // namespace detail

}  // namespace weir::pg
