// SPDX-License-Identifier: MIT
// A request becomes a path, a descriptor, a plan of the response, and then the bytes of the plan.
// The path is looked up and the file read on the loop if the kernel has all of it in memory, which
// it can tell without waiting; otherwise on a thread or by io_uring. Small files are cached, and
// compared with the file system at each request.

#include "http/coding/content_coding.hpp"
#include "http/files/file_cache.hpp"
#include "http/files/file_source.hpp"
#include "http/files/open_beneath.hpp"
#include "http/files/representation.hpp"
#include "http/files/served_path.hpp"

#include <weir/error.hpp>
#include <weir/http/files.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/error.hpp>

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

std::int64_t wall_clock() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::chrono::sys_seconds whole_seconds(std::int64_t nanoseconds) {
    return std::chrono::floor<std::chrono::seconds>(
        std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(nanoseconds)));
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
          piece_size_(options.piece_size),
          cache_(options.cache_size) {
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
        const found_file folder_found = detail::open_beneath(folder_, {}, follow_, false);
        if (folder_found.what != found::directory) {
            throw io_error(folder_found.error != 0 ? folder_found.error : ENOTDIR,
                           "files of " + folder_);
        }
    }

    task<response> operator()(request& request) {
        if (!detail::is_read(request)) {
            co_return detail::method_not_allowed(request);
        }
        const std::optional<std::string_view> sent = detail::rest_of_path(request, prefix_);
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
        // A file that is written again and again may change during several attempts.
        constexpr int most_attempts = 5;
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            std::optional<response> answer = co_await answer_from(request, *path);
            if (answer) {
                co_return std::move(*answer);
            }
        }
        co_return unavailable("the file is changing");
    }

private:
    // Independent of later changes of the working directory.
    static std::string absolute(const std::string& folder) {
        if (folder.empty() || folder.find('\0') != std::string::npos) {
            throw invalid_argument(
                "files: the name of the folder is empty or contains a zero byte");
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
    // EINVAL: a name that the file system, such as FAT, does not allow.
    static bool is_refusal(int error) noexcept {
        constexpr std::array expected = {0,      ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP,
                                         EXDEV,  ENXIO,  EINVAL,  EACCES,       EPERM,
                                         EMFILE, ENFILE, ENOMEM};
        return std::find(expected.begin(), expected.end(), error) != expected.end();
    }

    // A file that is open, or that is in the cache.
    struct known_file {
        found_file file;
        detail::file_cache::text content;
    };

    task<known_file> open(std::string path) {
        known_file result;
        if (const auto* const kept = cache_.find(path)) {
            file_facts now;
            if (detail::look_at(folder_ + '/' + path, now) && now == kept->facts) {
                result.content = kept->content;
                result.file.what = found::file;
                result.file.facts = now;
                co_return result;
            }
            cache_.forget(path);
        }
        result.file = detail::open_beneath(folder_, path, follow_, true);
        if (result.file.error == EAGAIN) {
            result.file =
                co_await run_blocking(detail::open_beneath, folder_, path, follow_, false);
        }
        if (!is_refusal(result.file.error)) {
            throw io_error(result.file.error, "open " + folder_ + '/' + path);
        }
        co_return result;
    }

    // Empty: the file changed while it was read; try again.
    task<std::optional<response>> answer_from(const request& request,
                                              const detail::served_path& path) {
        known_file chosen = co_await open(path.text);
        const found what = chosen.file.what;
        if (what == found::directory && !path.is_directory && !index_.empty()) {
            co_return detail::redirect_to_folder(request);
        }
        if (what != found::file) {
            co_return refusal(chosen.file.error);
        }
        std::string name = path.text;
        coding encoded = coding::identity;
        if (precompressed_) {
            encoded = co_await replace_by_encoded(request, chosen, name);
        }

        const file_facts facts = chosen.file.facts;
        const std::int64_t now = wall_clock();
        const std::string etag = detail::etag_of(facts, now);
        detail::representation about;
        about.known = {etag, whole_seconds(facts.modified)};
        about.size = facts.size;
        about.content_type = type_of(path.text);
        about.cache_control = cache_control_;
        about.max_ranges = max_ranges_;
        about.varies_by_encoding = precompressed_;
        if (encoded != coding::identity) {
            about.content_encoding = detail::name_of(encoded);
        }
        answer_plan plan = detail::answer_with_validators(request, about, whole_seconds(now));
        if (plan.is_complete()) {
            co_return std::move(plan.answer);
        }
        if (chosen.content != nullptr) {
            plan.answer.set_body(body_of(std::move(chosen.content), plan));
            co_return std::move(plan.answer);
        }
        detail::file_source from(chosen.file.file.release(), folder_ + '/' + name, facts);
        if (plan.size > piece_size_ || request.method() == method::head) {
            auto write = [from = std::move(from), pieces = std::move(plan.pieces),
                          piece_size = piece_size_](body_writer& out) {
                return from.send(out, pieces, piece_size);
            };
            plan.answer.set_body(body::stream(std::move(write), plan.size));
            co_return std::move(plan.answer);
        }
        std::optional<std::string> content = co_await from.read(plan.pieces, plan.size);
        if (!content) {
            co_return std::nullopt;
        }
        // A young file may change again without another time stamp.
        const bool is_whole = plan.answer.status() == status::ok;
        if (is_whole && !detail::is_young(facts, now)) {
            auto shared = std::make_shared<const std::string>(std::move(*content));
            cache_.keep(std::move(name), facts, shared);
            plan.answer.set_body(body::shared(std::move(shared)));
        } else {
            plan.answer.set_body(std::move(*content));
        }
        co_return std::move(plan.answer);
    }

    static body body_of(detail::file_cache::text content, const answer_plan& plan) {
        if (plan.size == content->size() && plan.pieces.size() == 1) {
            return body::shared(std::move(content));
        }
        std::string parts;
        parts.reserve(static_cast<std::size_t>(plan.size));
        for (const body_piece& each : plan.pieces) {
            parts += each.text;
            parts.append(*content, static_cast<std::size_t>(each.bytes.first),
                         static_cast<std::size_t>(each.bytes.size));
        }
        return parts;
    }

    // Replaces the file by the compressed sibling that the client prefers, if there is one that is
    // not out of date.
    task<coding> replace_by_encoded(const request& request, known_file& original,
                                    std::string& name) {
        std::vector<coding> offered = {coding::brotli, coding::gzip};
        const std::string wanted = request.headers().joined("Accept-Encoding");
        while (!offered.empty()) {
            const coding choice = detail::choose_coding(wanted, offered).which;
            if (choice == coding::identity) {
                break;
            }
            std::erase(offered, choice);
            std::string sibling = name + (choice == coding::gzip ? ".gz" : ".br");
            known_file other = co_await open(sibling);
            if (other.file.what == found::file &&
                other.file.facts.modified >= original.file.facts.modified) {
                original = std::move(other);
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
    detail::file_cache cache_;
};

}  // namespace

handler files(std::string folder, files_options options) {
    return file_site(folder, options);
}

}  // namespace weir::http
