// SPDX-License-Identifier: MIT
// A name is free if no file has it, no folder has it, and no folder in it is a file.

#include "crawl/output/mirror_index.hpp"

#include "crawl/html/html_letters.hpp"
#include "crawl/output/mirror_path.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace weir::crawl::detail {

const mirror_index::entry& mirror_index::add_file(const http::url& url, std::string_view type,
                                                  std::string_view content_type) {
    entry& added = entries_[url.text()];
    if (added.path.empty()) {
        std::string path = mirror_path(url, type);
        if (!is_free(path)) {
            path = mirror_path_beside(path, url);
        }
        take(path);
        added.path = std::move(path);
    }
    added.location.clear();
    added.is_rewritten = false;
    added.content_type = content_type;
    std::replace_if(
        added.content_type.begin(), added.content_type.end(),
        [](char each) { return static_cast<unsigned char>(each) < ' '; }, ' ');
    return added;
}

void mirror_index::add_redirect(const std::string& url, std::string location) {
    entries_[url] = {{}, std::move(location), {}, false};
}

void mirror_index::append_line(std::string& to, const std::string& url, const entry& added) {
    to.append(url).append("\t").append(added.path).append("\t").append(added.location);
    to.append("\t").append(added.content_type).append("\n");
}

void mirror_index::read_lines(std::string_view text, bool is_rewritten) {
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        std::array<std::string, 4> fields;
        for (std::string& field : fields) {
            field = line.substr(0, line.find('\t'));
            line.remove_prefix(std::min(field.size() + 1, line.size()));
        }
        if (!fields[1].empty()) {
            take(fields[1]);
        }
        entries_[fields[0]] = {fields[1], fields[2], fields[3], is_rewritten};
    }
}

std::string mirror_index::file_of(const std::string& url) const {
    std::string at = url;
    for (int hops = 0; hops < 20; ++hops) {
        const auto found = entries_.find(at);
        if (found == entries_.end()) {
            return {};
        }
        if (!found->second.path.empty()) {
            return found->second.path;
        }
        at = found->second.location;
    }
    return {};
}

bool mirror_index::is_free(const std::string& path) const {
    const std::string lower = lowered(path);
    if (files_.contains(lower) || folders_.contains(lower)) {
        return false;
    }
    for (std::size_t slash = lower.find('/'); slash != std::string::npos;
         slash = lower.find('/', slash + 1)) {
        if (files_.contains(lower.substr(0, slash))) {
            return false;
        }
    }
    return true;
}

void mirror_index::take(const std::string& path) {
    std::string lower = lowered(path);
    for (std::size_t slash = lower.find('/'); slash != std::string::npos;
         slash = lower.find('/', slash + 1)) {
        folders_.insert(lower.substr(0, slash));
    }
    files_.insert(std::move(lower));
}

}  // namespace weir::crawl::detail
