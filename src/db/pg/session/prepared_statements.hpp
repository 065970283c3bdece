// SPDX-License-Identifier: MIT
// The prepared statements of one connection, found by their SQL. The least recently used one is
// evicted; the session has the server deallocate it later.
//
// A statement's name is a hash of its SQL: where a pooler lets several clients use one server
// connection, a name means the same statement to all of them.
#pragma once

#include <openssl/sha.h>

#include <algorithm>
#include <array>
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
        std::uint64_t number = 0;
        const char* name = nullptr;  // valid until the next call
        bool is_new = false;         // the caller must prepare it first
    };
    // The statement with this SQL; a new one if there is none yet. None (the name is null) if the
    // server must deallocate the former one first.
    lookup use(const std::string& sql) {
        if (const auto found = by_sql_.find(sql); found != by_sql_.end()) {
            entries_.splice(entries_.begin(), entries_, found->second);
            return {entries_.front().number, entries_.front().name.c_str(), false};
        }
        std::string name = name_of(sql);
        if (std::find(to_deallocate_.begin(), to_deallocate_.end(), name) != to_deallocate_.end()) {
            return {};
        }
        if (entries_.size() >= capacity_) {
            evict(std::prev(entries_.end()));
        }
        const std::uint64_t number = ++last_number_;
        entries_.push_front({sql, std::move(name), number});
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

    static std::string name_of(const std::string& sql) {
        std::array<unsigned char, SHA256_DIGEST_LENGTH> hash;
        SHA256(reinterpret_cast<const unsigned char*>(sql.data()), sql.size(), hash.data());
        constexpr std::size_t used = 16;  // bytes; a name has at most 63 characters
        std::string name = "weir_";
        for (std::size_t i = 0; i < used; ++i) {
            constexpr const char* digits = "0123456789abcdef";
            name += digits[hash[i] >> 4];
            name += digits[hash[i] & 15];
        }
        return name;
    }
    void evict(iterator oldest) {
        by_sql_.erase(oldest->sql);
        to_deallocate_.push_back(std::move(oldest->name));
        entries_.erase(oldest);
    }
    void remove(std::uint64_t number, bool is_on_server) {
        for (iterator each = entries_.begin(); each != entries_.end(); ++each) {
            if (each->number == number) {
                by_sql_.erase(each->sql);
                if (is_on_server) {
                    to_deallocate_.push_back(std::move(each->name));
                }
                entries_.erase(each);
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
