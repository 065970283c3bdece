// SPDX-License-Identifier: MIT
// Files are written on another thread, and synced once for each flush, before the list of files
// that a position counts. A file that was not committed is written again by the same name.
//
// Links are rewritten when the crawl is complete, from 'page.html.orig', to which the page as it
// came is renamed first. If that is interrupted, it starts again from there. The last steps note
// how much of the list is done, for a crawl that goes on later, and remove these files.

#include "crawl/output/mirror_index.hpp"
#include "crawl/output/mirror_links.hpp"
#include "crawl/output/mirror_path.hpp"
#include "crawl/output/output_file.hpp"

#include <weir/crawl/mirror_sink.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/error.hpp>
#include <weir/io/file_system.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace weir::crawl {
namespace {

struct mirrored_file {
    std::string path;
    std::string body;
};

void write_mirrored(const std::string& path, std::string_view body) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(body.data(), static_cast<std::streamsize>(body.size()));
    out.close();
    if (!out) {
        throw io_error(errno, "write " + path);
    }
}

void sync_mirror(const std::string& folder) {
    const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0 || ::syncfs(opened) != 0) {
        const int error = errno;
        ::close(opened);
        throw io_error(error, "sync " + folder);
    }
    ::close(opened);
}

void write_mirrored_files(const std::string& folder, const std::vector<mirrored_file>& files) {
    for (const mirrored_file& each : files) {
        const std::filesystem::path path = folder + "/" + each.path;
        std::filesystem::create_directories(path.parent_path());
        write_mirrored(path.string(), each.body);
        // Another run of the crawl may have rewritten a page of this name.
        std::filesystem::remove(path.string() + ".orig");
    }
    if (!files.empty()) {
        sync_mirror(folder);
    }
}

bool is_mirrored_page(const detail::mirror_index::entry& entry) noexcept {
    return !entry.path.empty() && entry.content_type.find("html") != std::string::npos;
}

// How much of the list is rewritten.
constexpr std::string_view rewritten_mark = "/.weir-mirror-rewritten";
// Exists from the first rename of a page to the removal of the last original.
constexpr std::string_view rewriting_mark = "/.weir-mirror-rewriting";

void rewrite_mirror(const std::string& folder, const detail::mirror_index& index,
                    std::uint64_t list_length) {
    std::vector<std::string> originals;
    write_mirrored(folder + std::string(rewriting_mark), "");
    for (const auto& [url, entry] : index.entries()) {
        const auto parsed = http::url::try_parse(url);
        if (!is_mirrored_page(entry) || entry.is_rewritten || !parsed) {
            continue;
        }
        const std::string path = folder + "/" + entry.path;
        const std::string original = path + ".orig";
        if (!std::filesystem::exists(original)) {
            std::filesystem::rename(path, original);
        }
        std::ifstream in(original, std::ios::binary);
        const std::string html{std::istreambuf_iterator<char>(in), {}};
        const detail::mirror_lookup lookup = [&](const std::string& target) {
            const std::string file = index.file_of(target);
            return file.empty() ? file : detail::relative_mirror_path(entry.path, file);
        };
        write_mirrored(path, detail::with_mirror_links(html, entry.content_type, *parsed, lookup));
        originals.push_back(original);
    }
    sync_mirror(folder);
    write_mirrored(folder + std::string(rewritten_mark), std::to_string(list_length));
    sync_mirror(folder);
    for (const std::string& each : originals) {
        std::filesystem::remove(each);
    }
    std::filesystem::remove(folder + std::string(rewriting_mark));
}

// Of a rewriting that was interrupted, after the mark was written.
void remove_originals(const std::string& folder, const detail::mirror_index& index) {
    for (const auto& [url, entry] : index.entries()) {
        if (is_mirrored_page(entry) && entry.is_rewritten) {
            std::filesystem::remove(folder + "/" + entry.path + ".orig");
        }
    }
}

}  // namespace

struct mirror_sink::parts {
    explicit parts(std::string given) : folder(std::move(given)), list(folder + "/.weir-mirror") {}

    std::string folder;
    detail::output_file list;
    detail::mirror_index index;
    std::string lines;  // for the list, once their files are written
    std::uint64_t length = 0;
    std::vector<mirrored_file> waiting;
    std::size_t bytes = 0;
    bool has_new_pages = false;  // that are to be rewritten
};

mirror_sink::mirror_sink(std::string folder)
    : name_("mirror:" + folder), parts_(std::make_unique<parts>(std::move(folder))) {}
mirror_sink::~mirror_sink() = default;

task<> mirror_sink::open(std::string position) {
    parts& all = *parts_;
    std::filesystem::create_directories(all.folder);
    all.length = co_await all.list.open(std::move(position));
    if (all.length > 0) {
        const std::string lines = co_await io::read_file(all.list.path(), std::size_t{1} << 32);
        std::ifstream mark(all.folder + std::string(rewritten_mark));
        std::size_t rewritten = 0;
        mark >> rewritten;
        rewritten = std::min(rewritten, lines.size());
        all.index.read_lines(std::string_view(lines).substr(0, rewritten), true);
        all.index.read_lines(std::string_view(lines).substr(rewritten), false);
        all.has_new_pages = rewritten < lines.size();
        if (std::filesystem::exists(all.folder + std::string(rewriting_mark))) {
            co_await run_blocking(remove_originals, all.folder, all.index);
            all.has_new_pages = true;
        }
    }
}

void mirror_sink::write(const page& settled) {
    parts& all = *parts_;
    const auto url = http::url::try_parse(settled.url);
    if (!url || settled.state != page_state::done) {
        return;
    }
    if (!settled.location.empty()) {
        all.index.add_redirect(settled.url, settled.location);
        detail::mirror_index::append_line(all.lines, settled.url,
                                          all.index.entries().at(settled.url));
        return;
    }
    if (settled.status != 200) {
        return;
    }
    const auto& entry =
        all.index.add_file(*url, settled.content_type, settled.headers.get("content-type"));
    detail::mirror_index::append_line(all.lines, url->text(), entry);
    all.waiting.push_back({entry.path, std::string(settled.body)});
    all.bytes += settled.body.size();
    all.has_new_pages = true;
}

std::size_t mirror_sink::buffered() const noexcept {
    return parts_->bytes + parts_->lines.size();
}

task<std::string> mirror_sink::flush() {
    parts& all = *parts_;
    const std::string lines = std::exchange(all.lines, std::string());
    std::vector<mirrored_file> files = std::exchange(all.waiting, {});
    all.bytes = 0;
    co_await run_blocking(write_mirrored_files, all.folder, std::move(files));
    all.list.append(lines);
    all.length = co_await all.list.flush();
    co_return std::to_string(all.length);
}

task<> mirror_sink::close(bool is_complete) {
    parts& all = *parts_;
    all.list.close();
    if (is_complete && all.has_new_pages) {
        co_await run_blocking(rewrite_mirror, all.folder, all.index, all.length);
    }
}

}  // namespace weir::crawl
