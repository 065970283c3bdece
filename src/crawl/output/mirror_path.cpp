// SPDX-License-Identifier: MIT
// Hashes are FNV-1a: a clash is found when a name is taken, and is not dangerous.

#include "crawl/output/mirror_path.hpp"

#include "base/ascii.hpp"
#include "base/quoted.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weir::crawl::detail {
namespace {

constexpr std::size_t longest_name = 100;  // and a hash

std::string mirror_hash(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char each : text) {
        hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
    }
    std::string digits;
    base::append_hex(digits, hash);
    return "~" + digits.substr(0, 12);
}

bool is_name_letter(char letter) noexcept {
    return base::is_alphanumeric(letter) ||
           std::string_view("-._~+=@,!()").find(letter) != std::string_view::npos;
}

// '.html' of 'page.html'; empty if there is none, or a long one.
std::string_view extension_of(std::string_view name) noexcept {
    const std::size_t dot = name.find_last_of('.');
    return dot == std::string_view::npos || dot == 0 || name.size() - dot > 8 ? std::string_view()
                                                                              : name.substr(dot);
}

std::string safe_name(std::string_view segment) {
    std::string name;
    for (const char each : segment) {
        name += is_name_letter(each) ? each : '_';
    }
    const bool is_special = name == "." || name == ".." || name.empty();
    if (is_special || name != segment || name.size() > longest_name) {
        const std::string extension(extension_of(name));
        name.resize(std::min(name.size() - extension.size(), longest_name - extension.size()));
        name = (is_special ? "_" : name) + mirror_hash(segment) + extension;
    }
    return name;
}

}  // namespace

std::string mirror_path(const http::url& url, std::string_view content_type) {
    std::string path = safe_name(url.host());
    if (!url.has_default_port()) {
        path += "_" + std::to_string(url.port());
    }
    std::string_view rest = url.path();
    rest.remove_prefix(rest.starts_with('/') ? 1 : 0);
    for (std::size_t slash = rest.find('/'); slash != std::string_view::npos;
         slash = rest.find('/')) {
        path += "/" + safe_name(rest.substr(0, slash));
        rest.remove_prefix(slash + 1);
        if (path.size() > 2000) {  // the file system would refuse it
            return safe_name(url.host()) + "/long" + mirror_hash(url.text());
        }
    }
    std::string name = rest.empty() ? "index.html" : safe_name(rest);
    if (!url.query().empty()) {
        const std::string extension(extension_of(name));
        name.resize(name.size() - extension.size());
        name += mirror_hash(url.query()) + extension;
    }
    const bool is_page = content_type == "text/html" || content_type == "application/xhtml+xml";
    const std::string_view extension = extension_of(name);
    if (is_page && extension != ".html" && extension != ".htm" && extension != ".xhtml") {
        name += ".html";
    }
    return path + "/" + name;
}

std::string mirror_path_beside(const std::string& path, const http::url& url) {
    const std::size_t name = path.find_last_of('/') + 1;
    const std::string extension(extension_of(std::string_view(path).substr(name)));
    const std::size_t host_end = path.find('/');
    return path.substr(0, host_end) + "/_other/" +
           path.substr(name, path.size() - name - extension.size()).substr(0, longest_name) +
           mirror_hash(url.text()) + extension;
}

std::string relative_mirror_path(std::string_view from, std::string_view to) {
    std::size_t common = 0;  // of the folders
    for (std::size_t i = 0; i < std::min(from.size(), to.size()) && from[i] == to[i]; ++i) {
        common = from[i] == '/' ? i + 1 : common;
    }
    std::string path;
    for (const char each : from.substr(common)) {
        path += each == '/' ? "../" : "";
    }
    return path.append(to.substr(common));
}

}  // namespace weir::crawl::detail
