// SPDX-License-Identifier: MIT
// A request is a path, a descriptor, a plan, and then the bytes that the plan names. The path is looked
// up on the loop if the kernel has all of it in memory, which it says without waiting; else on a thread.

#include <weir/error.hpp>
#include <weir/http/detail/content_coding.hpp>
#include <weir/http/detail/open_beneath.hpp>
#include <weir/http/detail/representation.hpp>
#include <weir/http/detail/served_path.hpp>
#include <weir/http/files.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/error.hpp>
#include <weir/io/file.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace weir::http {

namespace {

using detail::answer_plan;
using detail::body_piece;
using detail::coding;
using detail::file_facts;
using detail::found;
using detail::found_file;

constexpr std::int64_t second = 1'000'000'000;

std::int64_t wall_clock() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::chrono::sys_seconds whole_seconds(std::int64_t nanoseconds) {
    return std::chrono::floor<std::chrono::seconds>(
        std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(nanoseconds)));
}

// Hashed: clients need not know inode numbers. Weak while the file is so young that it may change again
// without another time stamp: those are some milliseconds apart.
std::string etag_of(const file_facts& facts, std::int64_t now) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::uint64_t part : {facts.inode, facts.size, static_cast<std::uint64_t>(facts.modified),
                               static_cast<std::uint64_t>(facts.changed)}) {
        hash ^= part;
        hash ^= hash >> 32;
        hash *= 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    std::string tag = facts.changed + second > now ? "W/\"" : "\"";
    for (int shift = 60; shift >= 0; shift -= 4) {
        tag += "0123456789abcdef"[(hash >> shift) & 15];
    }
    return tag + '"';
}

// Is what was read from it still what it was? What was added behind does not matter, nor does the
// inode's date: a new version that took the name left the old one as it was.
bool still_holds(const file_facts& before, const file_facts& after) noexcept {
    return after.size > before.size ||
           (after.size == before.size && after.modified == before.modified);
}

// An open file that is to be sent.
struct source {
    io::file file;
    file_facts facts;
    std::string name;

    void check() const {
        if (!still_holds(facts, detail::facts_of(file.fd(), name))) {
            throw error(name + " was changed while it was sent");
        }
    }
};

// The connection is broken off rather than ended well with bytes of two versions.
task<> send_pieces(body_writer& out, const source& from, const std::vector<body_piece>& pieces,
                   std::size_t piece_size) {
    std::string buffer;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const body_piece& each = pieces[i];
        co_await out.write(each.text);
        for (std::uint64_t done = 0; done < each.bytes.size;) {
            const std::uint64_t left = each.bytes.size - done;
            buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_size)));
            const std::size_t count = co_await from.file.read_at(buffer, each.bytes.first + done);
            if (count < buffer.size()) {
                throw error(from.name + " was cut while it was sent");
            }
            done += count;
            if (done == each.bytes.size && i + 2 >= pieces.size()) {
                from.check();  // before what would complete the answer
            }
            co_await out.write(buffer);
        }
    }
}

class file_site {
public:
    file_site(const std::string& folder, const files_options& options)
        : folder_(absolute(folder)),
          prefix_(options.prefix),
          index_(options.index),
          cache_control_(options.cache_control),
          follow_(options.follow),
          hides_dots_(!options.hidden),
          precompressed_(options.precompressed),
          max_ranges_(options.max_ranges),
          piece_size_(options.piece_size) {
        detail::check_cache_control(options.cache_control, "files_options");
        if (index_.find('/') != std::string::npos || index_ == "." || index_ == "..") {
            throw invalid_argument("files_options: index = '" + index_ +
                                   "' is not the name of a file");
        }
        if (piece_size_ < 1024 || piece_size_ > (64 << 20)) {
            throw invalid_argument("files_options: piece_size = " + std::to_string(piece_size_) +
                                   " must be from 1 KiB to 64 MiB");
        }
        for (const file_type& each : options.types) {
            if (!is_field_value(each.content_type) || each.content_type.empty()) {
                throw invalid_argument("files_options: the type of '" +
                                       std::string(each.extension) + "' cannot be a header");
            }
            types_.emplace_back(each.extension, each.content_type);
        }
        const found_file there = detail::open_beneath(folder_, {}, follow_, false);
        if (there.what != found::directory) {
            throw io_error(there.error != 0 ? there.error : ENOTDIR, "files of " + folder_);
        }
    }

    task<response> operator()(request& asked) {
        if (!detail::reads(asked)) {
            co_return detail::refuse_method(asked);
        }
        const std::optional<std::string_view> sent = detail::rest_of_path(asked, prefix_);
        std::optional<detail::served_path> path;
        if (sent) {
            path = detail::served_path_of(*sent, hides_dots_);
        }
        if (!path || (path->is_directory && index_.empty())) {
            co_return response::problem(status::not_found);
        }
        if (path->is_directory) {
            path->text += path->text.empty() ? index_ : '/' + index_;
        }
        // A file that is being written again and again may be met half-way more than once.
        constexpr int most_attempts = 5;
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            std::optional<response> answer = co_await answer_from(asked, *path);
            if (answer) {
                co_return std::move(*answer);
            }
        }
        co_return unavailable("the file is being changed");
    }

private:
    // Wherever the program goes later.
    static std::string absolute(const std::string& folder) {
        if (folder.empty() || folder.find('\0') != std::string::npos) {
            throw invalid_argument("files: the name of the folder is empty, or has a zero in it");
        }
        return std::filesystem::absolute(folder).string();
    }
    static response unavailable(std::string_view why) {
        return response::problem(status::service_unavailable, why).with("Retry-After", "1");
    }
    static response refusal(int error) {
        switch (error) {
            case EACCES:
            case EPERM:
                return response::problem(status::forbidden);
            case EMFILE:
            case ENFILE:
            case ENOMEM:
                return unavailable("too many files are open");
            default:
                return response::problem(status::not_found);
        }
    }
    static bool is_refusal(int error) noexcept {
        constexpr std::array expected = {0,     ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP,  EXDEV,
                                         ENXIO, EACCES, EPERM,   EMFILE,       ENFILE, ENOMEM};
        return std::find(expected.begin(), expected.end(), error) != expected.end();
    }

    task<found_file> open(std::string path) const {
        found_file result = detail::open_beneath(folder_, path, follow_, true);
        if (result.error == EAGAIN) {
            result = co_await run_blocking(detail::open_beneath, folder_, path, follow_, false);
        }
        if (!is_refusal(result.error)) {
            throw io_error(result.error, "open " + folder_ + '/' + path);
        }
        co_return result;
    }

    // None: it changed while it was read, and is to be asked again.
    task<std::optional<response>> answer_from(const request& asked,
                                              const detail::served_path& path) {
        found_file there = co_await open(path.text);
        if (there.what == found::directory && !path.is_directory && !index_.empty()) {
            co_return detail::redirect_to_folder(asked);
        }
        if (there.what != found::file) {
            co_return refusal(there.error);
        }
        std::string name = path.text;
        coding encoded = coding::identity;
        if (precompressed_) {
            encoded = co_await replace_by_encoded(asked, there, name);
        }

        const std::int64_t now = wall_clock();
        const std::string etag = etag_of(there.facts, now);
        detail::representation about;
        about.known = {etag, whole_seconds(there.facts.modified)};
        about.size = there.facts.size;
        about.content_type = type_of(path.text);
        about.cache_control = cache_control_;
        about.max_ranges = max_ranges_;
        about.varies_by_encoding = precompressed_;
        if (encoded != coding::identity) {
            about.content_encoding = detail::name_of(encoded);
        }
        answer_plan plan = detail::answer_with_validators(asked, about, whole_seconds(now));
        if (plan.is_complete()) {
            co_return std::move(plan.answer);
        }
        source from{io::file(there.file.release(), folder_ + '/' + name), there.facts,
                    folder_ + '/' + name};
        if (plan.size > piece_size_ || asked.method() == method::head) {
            auto write = [from = std::move(from), pieces = std::move(plan.pieces),
                          piece_size = piece_size_](body_writer& out) {
                return send_pieces(out, from, pieces, piece_size);
            };
            plan.answer.set_body(body::stream(std::move(write), plan.size));
            co_return std::move(plan.answer);
        }
        std::optional<std::string> content = co_await read_pieces(from, plan);
        if (!content) {
            co_return std::nullopt;
        }
        plan.answer.set_body(std::move(*content));
        co_return std::move(plan.answer);
    }

    static task<std::optional<std::string>> read_pieces(const source& from,
                                                        const answer_plan& plan) {
        std::string whole(static_cast<std::size_t>(plan.size), '\0');
        std::size_t at = 0;
        for (const body_piece& each : plan.pieces) {
            std::copy(each.text.begin(), each.text.end(),
                      whole.begin() + static_cast<std::ptrdiff_t>(at));
            at += each.text.size();
            const auto size = static_cast<std::size_t>(each.bytes.size);
            if (size > 0) {
                const io::bytes part = io::bytes(whole).after(at).first(size);
                const std::size_t count = co_await from.file.read_at(part, each.bytes.first);
                if (count < size) {
                    co_return std::nullopt;
                }
                at += size;
            }
        }
        if (!still_holds(from.facts, detail::facts_of(from.file.fd(), from.name))) {
            co_return std::nullopt;
        }
        co_return whole;
    }

    // The sibling that the client prefers of those that are there and not out of date.
    task<coding> replace_by_encoded(const request& asked, found_file& original, std::string& name) {
        std::vector<coding> offered = {coding::brotli, coding::gzip};
        const std::string wanted = asked.headers().joined("Accept-Encoding");
        while (!offered.empty()) {
            const coding choice = detail::choose_coding(wanted, offered).which;
            if (choice == coding::identity) {
                break;
            }
            std::erase(offered, choice);
            std::string sibling = name + (choice == coding::gzip ? ".gz" : ".br");
            found_file there = co_await open(sibling);
            if (there.what == found::file && there.facts.modified >= original.facts.modified) {
                original = std::move(there);
                name = std::move(sibling);
                co_return choice;
            }
        }
        co_return coding::identity;
    }

    std::string_view type_of(std::string_view path) const noexcept {
        for (const auto& [extension, type] : types_) {
            if (path.size() > extension.size() && path[path.size() - extension.size() - 1] == '.' &&
                same_name(path.substr(path.size() - extension.size()), extension)) {
                return type;
            }
        }
        return detail::content_type_of(path);
    }

    std::string folder_;
    std::string prefix_;
    std::string index_;
    std::string cache_control_;
    links follow_;
    bool hides_dots_;
    bool precompressed_;
    std::size_t max_ranges_;
    std::size_t piece_size_;
    std::vector<std::pair<std::string, std::string>> types_;
};

}  // namespace

handler files(std::string folder, files_options options) {
    return file_site(folder, options);
}

}  // namespace weir::http
