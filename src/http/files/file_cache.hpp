// SPDX-License-Identifier: MIT
// A cache of small files that were sent recently, the least recently used of which is dropped
// first. Callers still check before each use whether the file has changed; the cache saves opening,
// reading and closing it.
#pragma once

#include "http/files/open_beneath.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace weir::http::detail {

class file_cache {
public:
    using text = std::shared_ptr<const std::string>;

    explicit file_cache(std::size_t limit) noexcept : limit_(limit) {}
    file_cache(file_cache&&) = default;

    struct entry {
        std::string path;
        file_facts facts;
        text content;
    };

    // Null if the path is not cached; valid until the next call.
    const entry* find(std::string_view path) {
        const auto at = by_path_.find(path);
        if (at == by_path_.end()) {
            return nullptr;
        }
        entries_.splice(entries_.begin(), entries_, at->second);
        return &*at->second;
    }
    void forget(std::string_view path) noexcept {
        if (const auto at = by_path_.find(path); at != by_path_.end()) {
            const auto gone = at->second;
            by_path_.erase(at);  // before the entry, which owns the key
            held_ -= cost(*gone);
            entries_.erase(gone);
        }
    }
    // Makes room by dropping the least recently used entries. A file that would take more than a
    // quarter of the cache is not kept.
    void keep(std::string path, const file_facts& facts, text content) {
        forget(path);
        entry added{std::move(path), facts, std::move(content)};
        if (cost(added) > limit_ / 4) {
            return;
        }
        while (held_ + cost(added) > limit_) {
            forget(std::string_view(entries_.back().path));
        }
        held_ += cost(added);
        entries_.push_front(std::move(added));
        by_path_.emplace(entries_.front().path, entries_.begin());
    }

    std::size_t held() const noexcept { return held_; }

private:
    static std::size_t cost(const entry& entry) noexcept {
        constexpr std::size_t overhead = 300;
        return entry.path.size() + entry.content->size() + overhead;
    }

    std::size_t limit_;
    std::size_t held_ = 0;
    std::list<entry> entries_;  // the most recently used first
    std::unordered_map<std::string_view, std::list<entry>::iterator> by_path_;
};

}  // namespace weir::http::detail
