// SPDX-License-Identifier: MIT
// Data that the system has in memory is read at once, the rest through io::file, which does not
// block the loop. After the last byte, the file's times and size tell whether all was one version.

#include "http/files/file_source.hpp"

#include "base/quoted.hpp"

#include <weir/http/error.hpp>

#include <algorithm>

namespace weir::http::detail {

namespace {

// Like io::file::read_at, but without waiting if the data is in memory.
task<std::size_t> read_part(const io::file& from, io::bytes into, std::uint64_t offset) {
    std::size_t filled = read_cached(from.fd(), into, offset);
    if (filled < into.size()) {
        filled += co_await from.read_at(into.after(filled), offset + filled);
    }
    co_return filled;
}

}  // namespace

bool is_young(const file_facts& facts, std::int64_t now) noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    return facts.changed + second > now;
}

std::string etag_of(const file_facts& facts, std::int64_t now) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const std::uint64_t part :
         {facts.inode, facts.size, static_cast<std::uint64_t>(facts.modified),
          static_cast<std::uint64_t>(facts.changed)}) {
        hash ^= part;
        hash ^= hash >> 32;
        hash *= 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    std::string tag = is_young(facts, now) ? "W/\"" : "\"";
    base::append_hex(tag, hash);
    return tag + '"';
}

// Appended data does not matter, nor does the change of the inode: a new version that took over the
// name left the old file as it was.
bool file_source::is_unchanged() const {
    const file_facts now = facts_of(file_.fd(), file_.path());
    return now.size > facts_.size || (now.size == facts_.size && now.modified == facts_.modified);
}

task<std::optional<std::string>> file_source::read(const std::vector<body_piece>& pieces,
                                                   std::uint64_t size) const {
    std::string whole(static_cast<std::size_t>(size), '\0');
    std::size_t at = 0;
    for (const body_piece& each : pieces) {
        std::copy(each.text.begin(), each.text.end(),
                  whole.begin() + static_cast<std::ptrdiff_t>(at));
        at += each.text.size();
        const auto count = static_cast<std::size_t>(each.bytes.size);
        if (count > 0) {
            const io::bytes part = io::bytes(whole).after(at).first(count);
            const std::size_t count_read = co_await read_part(file_, part, each.bytes.first);
            if (count_read < count) {
                co_return std::nullopt;
            }
            at += count;
        }
    }
    if (!is_unchanged()) {
        co_return std::nullopt;
    }
    co_return whole;
}

task<> file_source::send(body_writer& out, const std::vector<body_piece>& pieces,
                         std::size_t piece_size) const {
    std::string buffer;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const body_piece& each = pieces[i];
        co_await out.write(each.text);
        for (std::uint64_t done = 0; done < each.bytes.size;) {
            const std::uint64_t left = each.bytes.size - done;
            buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_size)));
            const std::size_t count_read =
                co_await read_part(file_, buffer, each.bytes.first + done);
            if (count_read < buffer.size()) {
                throw error(file_.path() + " was truncated while it was sent");
            }
            done += count_read;
            const bool is_last = done == each.bytes.size && i + 2 >= pieces.size();
            if (is_last && !is_unchanged()) {
                throw error(file_.path() + " was changed while it was sent");
            }
            co_await out.write(buffer);
        }
    }
}

}  // namespace weir::http::detail
