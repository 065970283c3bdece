// SPDX-License-Identifier: MIT
// Assets are sorted by path once, and compressed if that helps. A request is a binary search, a
// plan of the response, and a view of the content in the program.

#include "http/coding/compressor.hpp"
#include "http/coding/content_coding.hpp"
#include "http/files/representation.hpp"
#include "http/files/served_path.hpp"

#include <weir/error.hpp>
#include <weir/http/assets.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::http {

namespace {

using detail::answer_plan;
using detail::coding;

// Other bytes need another tag: '"5d41-br"'.
std::string etag_of_variant(std::string_view etag, coding which) {
    if (etag.empty()) {
        return {};
    }
    std::string result(etag.substr(0, etag.size() - 1));
    result += '-';
    result += detail::name_of(which);
    return result + '"';
}

// An asset in one of its codings.
struct variant {
    coding which = coding::identity;
    std::string etag;
    std::shared_ptr<const std::string> content;
};

struct prepared {
    explicit prepared(const asset& original) : source(original) {
        if (source.content_type.empty()) {
            source.content_type = detail::content_type_of(source.path);
        }
    }

    // Keeps variants that are at least a tenth smaller.
    void compress() {
        constexpr std::size_t small = 500;
        if (source.content.size() < small || !detail::is_compressible(source.content_type)) {
            return;
        }
        for (const coding each : {coding::brotli, coding::gzip}) {
            auto compressed = std::make_shared<std::string>();
            detail::make_compressor(each, {.gzip = 6, .brotli = 6}, source.content.size())
                ->run(source.content, detail::compressor::then::end, *compressed);
            if (compressed->size() < source.content.size() - source.content.size() / 10) {
                compressed->shrink_to_fit();
                variants.push_back(
                    {each, etag_of_variant(source.etag, each), std::move(compressed)});
            }
        }
    }
    // Null: not encoded.
    const variant* choose(const request& request) const {
        if (variants.empty()) {
            return nullptr;
        }
        std::vector<coding> offered;
        for (const variant& each : variants) {
            offered.push_back(each.which);
        }
        const coding choice =
            detail::choose_coding(request.headers().joined("Accept-Encoding"), offered).which;
        for (const variant& each : variants) {
            if (each.which == choice) {
                return &each;
            }
        }
        return nullptr;
    }

    asset source;
    std::vector<variant> variants;
};

class asset_site {
public:
    asset_site(std::span<const asset> all, const assets_options& options)
        : all_(all.begin(), all.end()),
          prefix_(options.prefix),
          index_(options.index),
          cache_control_(options.cache_control),
          max_ranges_(options.max_ranges) {
        detail::check_cache_control(options.cache_control, "assets_options");
        std::sort(all_.begin(), all_.end(), [](const prepared& a, const prepared& b) {
            return a.source.path < b.source.path;
        });
        for (std::size_t i = 0; i < all_.size(); ++i) {
            check(all_[i].source, i > 0 ? &all_[i - 1].source : nullptr);
            if (options.compressed) {
                all_[i].compress();
            }
        }
        if (!options.fallback.empty()) {
            fallback_ = find(options.fallback);
            if (fallback_ == nullptr) {
                throw invalid_argument("assets_options: fallback = '" +
                                       std::string(options.fallback) +
                                       "' is not the path of an asset");
            }
        }
    }

    // Only moved: fallback_ points into the list.
    asset_site(asset_site&&) noexcept = default;

    response operator()(const request& request) const {
        if (!detail::is_read(request)) {
            return detail::method_not_allowed(request);
        }
        const std::optional<std::string_view> sent = detail::rest_of_path(request, prefix_);
        if (sent) {
            // Names that begin with a dot are not hidden: they were embedded on purpose.
            if (const auto path = detail::served_path_of(*sent, false)) {
                if (const prepared* const found = find_served(*path)) {
                    return answer(request, *found);
                }
                if (is_folder(*path)) {
                    return detail::redirect_to_folder(request);
                }
            }
            if (fallback_ != nullptr) {
                return answer(request, *fallback_);
            }
        }
        return response::problem(status::not_found);
    }

private:
    static void check(const asset& each, const asset* before) {
        if (before != nullptr && before->path == each.path) {
            throw invalid_argument("assets: two assets have the path '" + std::string(each.path) +
                                   "'");
        }
        if (!each.etag.empty() && !detail::is_etag(each.etag)) {
            throw invalid_argument("assets: the etag of '" + std::string(each.path) + "' is " +
                                   std::string(each.etag) + ", which is not in quotes");
        }
    }

    const prepared* find(std::string_view path) const noexcept {
        const auto found = std::lower_bound(all_.begin(), all_.end(), path,
                                            [](const prepared& each, std::string_view wanted) {
                                                return each.source.path < wanted;
                                            });
        return found != all_.end() && found->source.path == path ? &*found : nullptr;
    }
    const prepared* find_served(const detail::served_path& path) const {
        if (!path.is_directory) {
            return find(path.text);
        }
        if (index_.empty()) {
            return nullptr;
        }
        return find(path.text.empty() ? index_ : path.text + '/' + index_);
    }
    // A folder without its final slash: relative links in its index would be wrong.
    bool is_folder(const detail::served_path& path) const {
        return !path.is_directory && !index_.empty() && find(path.text + '/' + index_) != nullptr;
    }

    response answer(const request& request, const prepared& found) const {
        const variant* const encoded = found.choose(request);
        const std::string_view content =
            encoded != nullptr ? *encoded->content : found.source.content;
        detail::representation content_info;
        content_info.known.etag = encoded != nullptr ? encoded->etag : found.source.etag;
        content_info.size = content.size();
        content_info.content_type = found.source.content_type;
        content_info.content_encoding = encoded != nullptr ? detail::name_of(encoded->which) : "";
        content_info.varies_by_encoding = !found.variants.empty();
        content_info.cache_control = cache_control_;
        content_info.max_ranges = max_ranges_;
        answer_plan plan = detail::answer_with_validators(request, content_info, {});
        if (plan.is_complete()) {
            return std::move(plan.answer);
        }
        const bool is_whole = plan.answer.status() == status::ok;
        if (encoded != nullptr && is_whole) {
            plan.answer.set_body(body::shared(encoded->content));
        } else if (encoded == nullptr && plan.pieces.size() == 1) {
            const detail::byte_range part = plan.pieces.front().bytes;
            plan.answer.set_body(body::fixed(content.substr(part.first, part.size)));
        } else {
            // Parts do not overlap, so together they are hardly larger than the asset.
            auto owner = encoded != nullptr ? encoded->content : nullptr;
            plan.answer.set_body(body::stream(
                [content, owner, pieces = std::move(plan.pieces)](body_writer& out) {
                    return write_pieces(out, content, pieces);
                },
                plan.size));
        }
        return std::move(plan.answer);
    }
    static task<> write_pieces(body_writer& out, std::string_view content,
                               const std::vector<detail::body_piece>& pieces) {
        for (const detail::body_piece& each : pieces) {
            co_await out.write(each.text);
            co_await out.write(content.substr(each.bytes.first, each.bytes.size));
        }
    }

    std::vector<prepared> all_;
    std::string prefix_;
    std::string index_;
    std::string cache_control_;
    std::size_t max_ranges_;
    const prepared* fallback_ = nullptr;
};

}  // namespace

handler assets(std::span<const asset> all, assets_options options) {
    return asset_site(all, options);
}

}  // namespace weir::http
