// SPDX-License-Identifier: MIT
// COPY needs a connection to itself. Rows are collected and handed to libpq a chunk at a time; its
// own buffer never grows, since each chunk is flushed. COPY ... TO is read only when the next chunk
// is requested, so a slow reader slows the server down.

#include "db/pg/session/exclusive_use.hpp"
#include "db/pg/values/server_error.hpp"

#include <weir/db/pg/copy.hpp>
#include <weir/error.hpp>

#include <charconv>
#include <exception>
#include <utility>

namespace weir::pg {

namespace {

using detail::exclusive_use;
using detail::result_ptr;

constexpr std::size_t chunk_size = 64 * 1024;

constexpr char two_copies[] = "pg: the SQL contains more than one COPY";

// Sends the COPY. Throws the server's error, or pg::error if the SQL is not the COPY that is
// expected.
task<exclusive_use> begin_copy(std::shared_ptr<detail::session> session, const std::string& sql,
                               ExecStatusType expected) {
    detail::check_sql(sql);
    exclusive_use use = co_await exclusive_use::begin(std::move(session));
    use->send(sql);
    const result_ptr first = co_await use->result();
    const ExecStatusType status = PQresultStatus(first.get());
    if (status == expected) {
        co_return std::move(use);
    }
    const bool is_other_copy = status == PGRES_COPY_IN || status == PGRES_COPY_OUT;
    if (!is_other_copy) {
        const result_ptr later = co_await use->rest(two_copies);
        use.give_back();
    }
    if (status == PGRES_FATAL_ERROR) {
        std::rethrow_exception(detail::error_of(first.get(), sql));
    }
    throw error(expected == PGRES_COPY_IN ? "pg: copy_in takes a COPY ... FROM STDIN"
                                          : "pg: copy_out takes a COPY ... TO STDOUT",
                db::retry_advice::no);
}

}  // namespace

copy_writer::copy_writer(detail::exclusive_use use, std::string sql)
    : use_(std::make_unique<exclusive_use>(std::move(use))), sql_(std::move(sql)) {}
copy_writer::copy_writer(copy_writer&&) noexcept = default;
copy_writer::~copy_writer() = default;

task<copy_writer> copy_writer::begin(std::shared_ptr<detail::session> session, std::string sql) {
    exclusive_use use = co_await begin_copy(std::move(session), sql, PGRES_COPY_IN);
    co_return copy_writer(std::move(use), std::move(sql));
}

// Removes a row whose values could not all be written.
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
        buffer_ += "\\\\x";
        detail::append_hex(buffer_, *bytes);
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
                                        " of a row contains a NUL, which PostgreSQL does not allow "
                                        "in text; send bytes, for a bytea");
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
        throw error("pg: an earlier write to the COPY failed or was stopped", db::retry_advice::no);
    }
    is_broken_ = true;  // until all is sent
    detail::direct_connection& connection = **use_;
    std::size_t from = 0;
    while (from < buffer_.size()) {
        const std::size_t size = std::min(buffer_.size() - from, 16 * chunk_size);
        connection.check(
            PQputCopyData(connection.get(), buffer_.data() + from, static_cast<int>(size)));
        co_await connection.flush();
        from += size;
    }
    buffer_.clear();
    is_broken_ = false;
}

task<std::uint64_t> copy_writer::end(bool is_commit) {
    if (is_broken_) {
        throw error("pg: a write to the COPY failed or was stopped: all rows are undone",
                    db::retry_advice::no);
    }
    drop_half_row();
    detail::direct_connection& connection = **use_;
    if (is_commit && !buffer_.empty()) {
        connection.check(
            PQputCopyData(connection.get(), buffer_.data(), static_cast<int>(buffer_.size())));
    }
    connection.check(PQputCopyEnd(connection.get(), is_commit ? nullptr : "the client gave up"));
    result_ptr done = co_await connection.result();
    result_ptr failure;
    if (PQresultStatus(done.get()) == PGRES_FATAL_ERROR) {
        failure = std::move(done);
    }
    result_ptr later = co_await connection.rest(two_copies);
    if (failure == nullptr) {
        failure = std::move(later);
    }
    use_->give_back();
    if (failure != nullptr && is_commit) {
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

generator<std::string> copy_out(std::shared_ptr<session> session, std::string sql) {
    exclusive_use use = co_await begin_copy(std::move(session), sql, PGRES_COPY_OUT);
    std::string chunk;
    for (;;) {
        char* row = nullptr;
        const int size = PQgetCopyData(use->get(), &row, 1);
        if (size > 0) {
            const std::unique_ptr<char, free_memory> owned(row);
            chunk.append(row, static_cast<std::size_t>(size));
        }
        const bool is_full = chunk.size() >= chunk_size || (size <= 0 && !chunk.empty());
        if (is_full) {
            co_yield moved(chunk);
            chunk.clear();
        }
        if (size == 0) {
            co_await use->read();
        } else if (size == -1) {
            break;
        } else if (size < 0) {
            use->check(0);
        }
    }
    const result_ptr failure = co_await use->rest(two_copies);
    use.give_back();
    if (failure != nullptr) {
        std::rethrow_exception(error_of(failure.get(), sql));
    }
}

}  // namespace detail

}  // namespace weir::pg
