// SPDX-License-Identifier: MIT
// Counts what the traps of a site have in common: calendars make URLs that differ in a number only
// (a *pattern*), and broken sites give the same page under a thousand URLs. The counts are in
// memory, and are made again from the stored pages when a crawl continues.
#pragma once

#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/page.hpp>
#include <weir/flow/seeded_hash.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weir::crawl::detail {

// The URL with each run of digits as '0' and without the values of its query.
std::string pattern_of(std::string_view url);

class trap_counts {
public:
    // Keeps a reference to the options.
    explicit trap_counts(const crawl_options& options) noexcept : options_(options) {}

    void start(hash_seed seed) noexcept { seed_ = seed; }
    // Whether an option needs the counts.
    bool is_used() const noexcept { return counts_patterns() || counts_bodies(); }

    // Whether the crawl takes one more URL of this pattern.
    bool has_room_for(std::string_view url) const;
    void add(std::string_view url);
    // Counts the body of a page. False if the host has had it in max_equal_bodies pages before.
    bool add_body(std::string_view url, std::uint64_t body_hash);
    // A page that was stored by an earlier run, or is pending.
    void restore(const page_record& page);

private:
    bool counts_patterns() const noexcept {
        return options_.max_pages_per_pattern != crawl_options::unlimited;
    }
    bool counts_bodies() const noexcept {
        return options_.max_equal_bodies != crawl_options::unlimited;
    }
    std::uint64_t key_of(std::string_view text) const noexcept {
        return seeded_hash<std::string_view>()(text, seed_);
    }

    const crawl_options& options_;
    hash_seed seed_;
    std::unordered_map<std::uint64_t, std::uint64_t> patterns_;  // URLs
    std::unordered_map<std::uint64_t, std::uint64_t> bodies_;    // pages
};

}  // namespace weir::crawl::detail
