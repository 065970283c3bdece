// SPDX-License-Identifier: MIT
// What the system has in memory is read at once; the rest by way of io::file, which waits
// elsewhere. When all has been read, the file's dates and size tell whether it was one version.

#include "http/files/file_source.hpp"

#include <weir/http/error.hpp>

#include <algorithm>

namespace weir::http::detail {

namespace {

// As io::file::read_at, but at once if it can be.
task<std::size_t> read_part(const io::file& from, io::bytes into, std::uint64_t offset) {
    std::size_t got = read_cached(from.fd(), into, offset);
    if (got < into.size()) {
        got += co_await from.read_at(into.after(got), offset + got);
    }
    co_return got;
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
    for (int shift = 60; shift >= 0; shift -= 4) {
        tag += "0123456789abcdef"[(hash >> shift) & 15];
    }
    return tag + '"';
}

// What was added behind does not matter, nor does the inode's date: a new version that took the
// name left the old one as it was.
bool file_source::still_holds() const {
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
            const std::size_t came = co_await read_part(file_, part, each.bytes.first);
            if (came < count) {
                co_return std::nullopt;
            }
            at += count;
        }
    }
    if (!still_holds()) {
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
            const std::size_t came = co_await read_part(file_, buffer, each.bytes.first + done);
            if (came < buffer.size()) {
                throw error(file_.path() + " was cut while it was sent");
            }
            done += came;
            const bool is_last = done == each.bytes.size && i + 2 >= pieces.size();
            if (is_last && !still_holds()) {
                throw error(file_.path() + " was changed while it was sent");
            }
            co_await out.write(buffer);
        }
    }
}

}  // namespace weir::http::detail
