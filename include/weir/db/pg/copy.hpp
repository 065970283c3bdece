// SPDX-License-Identifier: MIT
// COPY: streams many rows into a table, or out of it.
//
//     auto writes = [&](pg::copy_writer& out) -> task<> {
//         for (const point& each : points) { co_await out.row(each.id, each.name); }
//     };
//     co_await database.copy_in("COPY points (id, name) FROM STDIN", writes);
//
//     auto text = database.copy_out("COPY points TO STDOUT (FORMAT csv)");
//     while (auto chunk = co_await text.next()) { co_await file.write(*chunk); }
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/db/pg/parameter.hpp>
#include <weir/generator.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weir::pg {

namespace detail {
class session;
class exclusive_use;
}  // namespace detail

// Writes the rows of a COPY ... FROM STDIN. Waits while the server is slower.
class copy_writer {
public:
    copy_writer(copy_writer&&) noexcept;
    copy_writer& operator=(copy_writer&&) = delete;
    ~copy_writer();

    // co_await row(values...): one row, in COPY's default format. Values are as for queries; throws
    // mapping_error for text with a NUL in it.
    template <class... Values>
        requires(sizeof...(Values) > 0 && (std::constructible_from<parameter, Values> && ...))
    task<> row(Values&&... values) {
        begin_row();
        (add(parameter(std::forward<Values>(values))), ...);
        end_row();
        return make_room();
    }
    // co_await write(text): text in the format that the COPY names; it may end within a row.
    task<> write(std::string_view text) {
        drop_half_row();
        buffer_ += text;
        return make_room();
    }

    // For the library. Throws pg::error if the server refuses, or the SQL is no COPY ... FROM
    // STDIN.
    static task<copy_writer> begin(std::shared_ptr<detail::session> session, std::string sql);
    // The number of rows that were copied; without is_commit, all are undone. Throws pg::error.
    task<std::uint64_t> end(bool is_commit);
    bool is_broken() const noexcept { return is_broken_; }

private:
    copy_writer(detail::exclusive_use use, std::string sql);
    void drop_half_row();
    void begin_row();
    void add(const parameter& value);
    void end_row();
    task<> make_room();

    std::unique_ptr<detail::exclusive_use> use_;
    std::string sql_;
    std::string buffer_;
    std::size_t row_start_ = 0;
    std::size_t column_ = 0;
    bool is_in_row_ = false;
    bool is_broken_ = false;  // a chunk was sent in part: the connection cannot be used any more
};

namespace detail {

// COPY ... FROM STDIN of what the body writes; the number of rows. If the body throws, all are
// undone and its error is passed on; if it is stopped, the connection is closed, which undoes them
// too.
template <class Body>
task<std::uint64_t> copy_in(std::shared_ptr<session> session, std::string sql, Body body) {
    copy_writer out = co_await copy_writer::begin(std::move(session), std::move(sql));
    std::exception_ptr failure;
    try {
        co_await body(out);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure == nullptr) {
        co_return co_await out.end(true);
    }
    if (!out.is_broken()) {
        try {
            co_await out.end(false);
        } catch (const error&) {  // the connection is lost: the server undoes all
        }
    }
    std::rethrow_exception(failure);
}

// COPY ... TO STDOUT, in chunks of whole rows, 64 KiB or a little more. The connection is in use
// until the end; destroying the generator before closes it.
generator<std::string> copy_out(std::shared_ptr<session> session, std::string sql);

}  // namespace detail

}  // namespace weir::pg
