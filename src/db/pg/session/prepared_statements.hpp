// SPDX-License-Identifier: MIT
// The prepared statements of one connection, found by their SQL. The least recently used one is
// evicted; the session has the server deallocate it later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::pg::detail {

class prepared_statements {
public:
    explicit prepared_statements(std::size_t capacity) noexcept : capacity_(capacity) {}

    struct lookup {
        std::uint64_t number;
        const char* name;  // valid until the next call
        bool is_new;       // the caller must prepare it first
    };
    // The statement with this SQL; a new one if there is none yet.
    lookup use(const std::string& sql) {
        if (const auto found = by_sql_.find(sql); found != by_sql_.end()) {
            entries_.splice(entries_.begin(), entries_, found->second);
            return {entries_.front().number, entries_.front().name.c_str(), false};
        }
        if (entries_.size() >= capacity_) {
            evict(std::prev(entries_.end()));
        }
        const std::uint64_t number = ++last_number_;
        entries_.push_front({sql, name_of(number), number});
        by_sql_.emplace(entries_.front().sql, entries_.begin());
        return {number, entries_.front().name.c_str(), true};
    }
    // Removes a statement that the server does not have.
    void forget(std::uint64_t number) { remove(number, false); }
    // Removes a statement that the server has, and must deallocate too.
    void discard(std::uint64_t number) { remove(number, true); }
    // The server has deallocated all statements.
    void clear() noexcept {
        by_sql_.clear();
        entries_.clear();
        to_deallocate_.clear();
    }
    // The names of the statements that the server must deallocate.
    std::vector<std::string> take_deallocations() noexcept {
        return std::exchange(to_deallocate_, {});
    }
    bool has_deallocations() const noexcept { return !to_deallocate_.empty(); }
    std::size_t size() const noexcept { return entries_.size(); }

private:
    struct statement {
        std::string sql;
        std::string name;
        std::uint64_t number;
    };
    using iterator = std::list<statement>::iterator;

    static std::string name_of(std::uint64_t number) { return "weir_" + std::to_string(number); }
    void evict(iterator oldest) {
        by_sql_.erase(oldest->sql);
        to_deallocate_.push_back(std::move(oldest->name));
        entries_.erase(oldest);
    }
    void remove(std::uint64_t number, bool is_on_server) {
        for (iterator each = entries_.begin(); each != entries_.end(); ++each) {
            if (each->number == number) {
                by_sql_.erase(each->sql);
                entries_.erase(each);
                if (is_on_server) {
                    to_deallocate_.push_back(name_of(number));
                }
                return;
            }
        }
    }

    std::size_t capacity_;
    std::uint64_t last_number_ = 0;
    std::list<statement> entries_;  // most recently used first
    std::unordered_map<std::string_view, iterator> by_sql_;
    std::vector<std::string> to_deallocate_;
};

}  // namespace weir::pg::detail
