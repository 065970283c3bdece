// SPDX-License-Identifier: MIT
// The prepared statements of a connection, by their text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::pg::detail {

class statements {
public:
    explicit statements(std::size_t most) noexcept : most_(most) {}

    struct found {
        std::uint64_t number;
        const char* name;  // valid until the next call
        bool is_new;       // to be prepared first
    };
    // The statement of that text, made if there is none; the one that was not used for longest
    // makes room.
    found use(const std::string& sql) {
        if (const auto at = by_text_.find(sql); at != by_text_.end()) {
            kept_.splice(kept_.begin(), kept_, at->second);
            return {kept_.front().number, kept_.front().name.c_str(), false};
        }
        if (kept_.size() >= most_) {
            drop(std::prev(kept_.end()));
        }
        const std::uint64_t number = ++last_number_;
        kept_.push_front({sql, name_of(number), number});
        by_text_.emplace(kept_.front().sql, kept_.begin());
        return {number, kept_.front().name.c_str(), true};
    }
    // The server does not have it.
    void forget(std::uint64_t number) { remove(number, false); }
    // The server has it, and is to forget it too.
    void abandon(std::uint64_t number) { remove(number, true); }
    // The server has forgotten all.
    void clear() noexcept {
        by_text_.clear();
        kept_.clear();
        unwanted_.clear();
    }
    // The names of those that the server is to forget.
    std::vector<std::string> take_unwanted() noexcept { return std::exchange(unwanted_, {}); }
    bool has_unwanted() const noexcept { return !unwanted_.empty(); }
    std::size_t size() const noexcept { return kept_.size(); }

private:
    struct statement {
        std::string sql;
        std::string name;
        std::uint64_t number;
    };
    using iterator = std::list<statement>::iterator;

    static std::string name_of(std::uint64_t number) { return "weir_" + std::to_string(number); }
    void drop(iterator gone) {
        by_text_.erase(gone->sql);
        unwanted_.push_back(std::move(gone->name));
        kept_.erase(gone);
    }
    void remove(std::uint64_t number, bool is_known_there) {
        for (iterator each = kept_.begin(); each != kept_.end(); ++each) {
            if (each->number == number) {
                by_text_.erase(each->sql);
                kept_.erase(each);
                if (is_known_there) {
                    unwanted_.push_back(name_of(number));
                }
                return;
            }
        }
    }

    std::size_t most_;
    std::uint64_t last_number_ = 0;
    std::list<statement> kept_;  // the one used last first
    std::unordered_map<std::string_view, iterator> by_text_;
    std::vector<std::string> unwanted_;
};

}  // namespace weir::pg::detail
