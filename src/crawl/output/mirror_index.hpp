// SPDX-License-Identifier: MIT
// The files of a mirror: which URL has which file, and which names are taken.
#pragma once

#include <weir/http/url.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace weir::crawl::detail {

class mirror_index {
public:
    struct entry {
        std::string path;           // empty: a redirect
        std::string location;       // of a redirect
        std::string content_type;   // with its charset
        bool is_rewritten = false;  // its links lead to the mirror already
    };

    // Chooses a name that no other file or folder has, whatever the case of its letters, and adds
    // the entry. A URL that has a file keeps it.
    const entry& add_file(const http::url& url, std::string_view type,
                          std::string_view content_type);
    void add_redirect(const std::string& url, std::string location);

    // Lines of the list: URL, path, location and type, separated by tabs.
    static void append_line(std::string& to, const std::string& url, const entry& added);
    void read_lines(std::string_view text, bool is_rewritten);

    // The file that a URL leads to, by redirects as well; empty if there is none.
    std::string file_of(const std::string& url) const;
    const std::unordered_map<std::string, entry>& entries() const noexcept { return entries_; }

private:
    bool is_free(const std::string& path) const;
    void take(const std::string& path);

    std::unordered_map<std::string, entry> entries_;
    std::unordered_set<std::string> files_;    // in lower case
    std::unordered_set<std::string> folders_;  // in lower case
};

}  // namespace weir::crawl::detail
