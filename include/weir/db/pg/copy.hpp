// SPDX-License-Identifier: MIT
// COPY: many rows into a table, or out of it, as one stream.
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
class alone;
}  // namespace detail

// What a COPY ... FROM STDIN is given. Who writes faster than the server takes it waits.
class copy_writer {
public:
    copy_writer(copy_writer&&) noexcept;
    copy_writer& operator=(copy_writer&&) = delete;
    ~copy_writer();

    // co_await row(values...): one row, in the format that COPY has unless told otherwise. Values
    // as for queries; throws mapping_error for text with a NUL in it.
    template <class... Values>
        requires(sizeof...(Values) > 0 && (std::constructible_from<parameter, Values> && ...))
    task<> row(Values&&... values) {
        begin_row();
        (add(parameter(std::forward<Values>(values))), ...);
        end_row();
        return make_room();
    }
    // co_await write(text): as it is, in the format that the COPY names; rows may be cut anywhere.
    task<> write(std::string_view text) {
        drop_half_row();
        buffer_ += text;
        return make_room();
    }

    // For the library. Throws pg::error if the server refuses, or it is no COPY ... FROM STDIN.
    static task<copy_writer> begin(std::shared_ptr<detail::session> on, std::string sql);
    // How many rows were copied; with false, they are all undone. Throws pg::error.
    task<std::uint64_t> end(bool is_good);
    bool is_broken() const noexcept { return is_broken_; }

private:
    copy_writer(detail::alone on, std::string sql);
    void drop_half_row();
    void begin_row();
    void add(const parameter& value);
    void end_row();
    task<> make_room();

    std::unique_ptr<detail::alone> on_;
    std::string sql_;
    std::string buffer_;
    std::size_t row_start_ = 0;
    std::size_t column_ = 0;
    bool is_in_row_ = false;
    bool is_broken_ = false;  // something was not sent whole: the connection is of no use
};

namespace detail {

// COPY ... FROM STDIN of what the body writes; how many rows. If the body throws, all are undone
// and its error is passed on; if it is stopped, the connection is dropped, and they are undone,
// too.
template <class Body>
task<std::uint64_t> copy_in(std::shared_ptr<session> on, std::string sql, Body body) {
    copy_writer out = co_await copy_writer::begin(std::move(on), std::move(sql));
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
        } catch (const error&) {  // the connection is lost, and all is undone
        }
    }
    std::rethrow_exception(failure);
}

// COPY ... TO STDOUT, in chunks of whole rows, 64 KiB or a little more. The connection is taken
// until the end; a generator that is dropped half-way drops it.
generator<std::string> copy_out(std::shared_ptr<session> on, std::string sql);

}  // namespace detail

}  // namespace weir::pg
