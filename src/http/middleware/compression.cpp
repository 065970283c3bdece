// SPDX-License-Identifier: MIT
// The middleware looks at the answer, decides, and either compresses a text at once or puts a
// writer between the handler's stream and the connection. Texts that would hold the loop up are
// made streams.

#include "http/coding/body_decoder.hpp"
#include "http/coding/compressor.hpp"
#include "http/coding/content_coding.hpp"
#include "http/files/conditions.hpp"

#include <weir/error.hpp>
#include <weir/http/compression.hpp>
#include <weir/http/error.hpp>
#include <weir/io/error.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weir::http {

namespace {

using detail::coding;
using detail::compressor;
using detail::compressor_levels;

constexpr std::size_t at_once = 64 << 10;  // a millisecond's work
constexpr std::size_t piece = 16 << 10;    // of a stream, between two waits

// Compresses what is written to it.
class compressing_writer final : public body_writer {
public:
    compressing_writer(body_writer& to, std::unique_ptr<compressor> by)
        : to_(to), by_(std::move(by)) {}

    task<> write(io::const_bytes data) override {
        check_whole();
        is_whole_ = false;  // unless this ends well
        while (!data.empty()) {
            const io::const_bytes part = data.first(std::min(data.size(), piece));
            data = data.after(part.size());
            by_->run(part, compressor::then::go_on, made_);
            is_flushed_ = false;
            if (made_.size() >= piece) {
                co_await hand_over();
            }
            if (!data.empty()) {
                co_await yield();  // compressing is work, and others want to go on
            }
        }
        is_whole_ = true;
    }
    task<> flush() override {
        if (!is_flushed_) {
            by_->run({}, compressor::then::flush, made_);
            is_flushed_ = true;
            co_await hand_over();
        }
        co_await to_.flush();
    }
    task<> finish() {
        check_whole();
        by_->run({}, compressor::then::end, made_);
        return hand_over();
    }

private:
    void check_whole() const {
        if (!is_whole_) {
            throw invalid_state("a write to the body was stopped, and it has a hole");
        }
    }
    task<> hand_over() {
        co_await to_.write(made_);
        made_.clear();
    }

    body_writer& to_;
    std::unique_ptr<compressor> by_;
    std::string made_;
    bool is_whole_ = true;
    bool is_flushed_ = true;  // nothing is inside the compressor that could be sent
};

// What all answers share.
struct workshop {
    compressor_levels levels;
    std::size_t max_streams;
    std::size_t streams = 0;
    std::unique_ptr<compressor> idle_gzip;  // kept from one text to the next

    std::string compressed(std::string_view text, coding which) {
        std::string made;
        made.reserve(text.size() / 2);
        if (which != coding::gzip) {
            detail::make_compressor(which, levels, text.size())
                ->run(text, compressor::then::end, made);
            return made;
        }
        std::unique_ptr<compressor> by = std::move(idle_gzip);
        if (by == nullptr || !by->restart()) {
            by = detail::make_compressor(which, levels, text.size());
        }
        by->run(text, compressor::then::end, made);
        idle_gzip = std::move(by);
        return made;
    }
};

// One of the streams that may be compressed at once; and the body that it is made of.
class compressed_stream {
public:
    compressed_stream(std::shared_ptr<workshop> in, body content, coding which)
        : in_(std::move(in)), content_(std::move(content)), which_(which) {
        ++in_->streams;
    }
    compressed_stream(compressed_stream&& other) noexcept = default;
    ~compressed_stream() {
        if (in_ != nullptr) {
            --in_->streams;
        }
    }

    task<> operator()(body_writer& out) {
        const std::size_t unknown = std::size_t{1} << 20;
        const auto size = static_cast<std::size_t>(
            std::min<std::uint64_t>(content_.size().value_or(unknown), unknown));
        compressing_writer writer(out, detail::make_compressor(which_, in_->levels, size));
        if (body::streamed* const stream = content_.as_stream()) {
            co_await stream->write(writer);
        } else {
            co_await writer.write(content_.text());
        }
        co_await writer.finish();
    }

private:
    std::shared_ptr<workshop> in_;
    body content_;
    coding which_;
};

void add_vary(headers& to) {
    if (to.lists("Vary", "Accept-Encoding") || to.lists("Vary", "*")) {
        return;
    }
    const std::string others = to.joined("Vary");
    to.set("Vary", others.empty() ? "Accept-Encoding" : others + ", Accept-Encoding");
}

void weaken_etag(headers& of) {
    const std::string_view etag = of.get("ETag");
    if (!etag.empty() && !etag.starts_with("W/")) {
        of.set("ETag", "W/" + std::string(etag));
    }
}

// What is wrong with a client's body is told to the client.
detail::decompressor::step unfold(detail::body_decoder& decoder, io::const_bytes from,
                                  io::bytes into, bool is_last) {
    try {
        return decoder.run(from, into, is_last);
    } catch (const limit_exceeded& error) {
        throw problem(status::content_too_large, error.what());
    } catch (const std::runtime_error& error) {
        throw problem(status::bad_request, error.what());
    }
}

// The body of the request as it was before somebody compressed it.
task<std::string> decoded_body(request& asked, std::string_view name, std::uint64_t limit) {
    detail::body_decoder decoder;
    decoder.begin(name, limit);
    std::array<char, 4096> raw;
    std::size_t filled = 0;
    std::string whole;
    std::string made(piece, '\0');
    bool is_last = false;
    for (;;) {
        const auto did = unfold(decoder, io::const_bytes(raw).first(filled), made, is_last);
        whole.append(made, 0, did.made);
        filled -= did.used;
        std::memmove(raw.data(), raw.data() + did.used, filled);
        if (did.made > 0 || did.used > 0) {
            continue;
        }
        if (is_last) {
            co_return whole;
        }
        const std::size_t came = co_await asked.read(io::bytes(raw).after(filled));
        filled += came;
        is_last = came == 0;
    }
}

class compression_middleware {
public:
    explicit compression_middleware(const compression_options& options)
        : requests_(options.requests),
          min_size_(options.min_size),
          max_decoded_bytes_(options.max_decoded_bytes),
          shared_(std::make_shared<workshop>()) {
        check(options.gzip_level, 1, 9, "gzip_level");
        check(options.brotli_level, 0, 11, "brotli_level");
        shared_->levels = {options.gzip_level, options.brotli_level};
        shared_->max_streams = options.max_streams;
        if (options.brotli) {
            offered_.push_back(coding::brotli);
        }
        if (options.gzip) {
            offered_.push_back(coding::gzip);
        }
        if (options.deflate) {
            offered_.push_back(coding::deflate);
        }
    }

    task<response> operator()(request& asked, next go_on) {
        if (requests_ != encoded_requests::pass && is_encoded(asked)) {
            if (requests_ == encoded_requests::refuse || !can_decode(asked)) {
                co_return refuse_encoding();
            }
            co_await decode(asked);
        }
        response answer = co_await go_on(asked);
        finish(asked, answer);
        co_return answer;
    }

private:
    static void check(int level, int least, int most, const char* name) {
        if (level < least || level > most) {
            throw invalid_argument(std::string("compression_options: ") + name + " = " +
                                   std::to_string(level) + " must be from " +
                                   std::to_string(least) + " to " + std::to_string(most));
        }
    }

    // ---- requests

    static bool is_encoded(const request& asked) {
        return asked.headers().contains("Content-Encoding") &&
               !same_name(asked.headers().joined("Content-Encoding"), "identity");
    }
    static bool can_decode(const request& asked) {
        detail::body_decoder decoder;
        return decoder.begin(asked.headers().joined("Content-Encoding"), 0);
    }
    response refuse_encoding() const {
        response answer = response::problem(status::unsupported_media_type,
                                            "the content coding of the body is not supported");
        return std::move(answer).with("Accept-Encoding", requests_ == encoded_requests::decode
                                                             ? "gzip, br, deflate"
                                                             : "identity");
    }
    task<> decode(request& asked) const {
        const std::string name = asked.headers().joined("Content-Encoding");
        std::string text = co_await decoded_body(asked, name, max_decoded_bytes_);
        asked.headers().remove("Content-Encoding");
        asked.headers().remove("Content-Length");
        asked.set_body(std::move(text));
    }

    // ---- answers

    void finish(const request& asked, response& answer) const {
        headers& fields = answer.headers();
        if (answer.status() == status::not_modified) {
            // As the 200 would have been that the client has: its tag tells.
            add_vary(fields);
            const std::string_view etag = fields.get("ETag");
            if (!etag.empty() && !etag.starts_with("W/") &&
                !detail::lists_etag(asked.headers().joined("If-None-Match"), etag,
                                    detail::comparison::strong)) {
                weaken_etag(fields);
            }
            return;
        }
        if (answer.is_upgrade() || !may_have_body(answer.status()) || answer.body().empty() ||
            fields.contains("Content-Encoding") || fields.contains("Content-Digest") ||
            fields.contains("Digest") || fields.contains("Repr-Digest") ||
            fields.contains("Content-MD5") || fields.lists("Cache-Control", "no-transform")) {
            return;
        }
        const detail::coding_choice choice =
            detail::choose_coding(asked.headers().joined("Accept-Encoding"), offered_);
        const bool is_text = detail::is_compressible(answer.content_type());
        if (is_text) {
            add_vary(fields);
        }
        const bool is_part =
            answer.status() == status::partial_content || fields.contains("Content-Range");
        const bool is_worth_it = is_text && answer.body().size().value_or(min_size_) >= min_size_;
        if (is_part || choice.which == coding::identity ||
            !(is_worth_it || choice.is_identity_refused)) {
            return;
        }
        compress(answer, choice.which);
    }

    void compress(response& answer, coding which) const {
        const bool is_small = !answer.body().is_stream() && answer.body().text().size() <= at_once;
        if (is_small) {
            answer.set_body(shared_->compressed(answer.body().text(), which));
        } else if (shared_->streams < shared_->max_streams) {
            body content = std::move(answer.body());
            answer.set_body(body::stream(compressed_stream(shared_, std::move(content), which)));
        } else {
            return;
        }
        headers& fields = answer.headers();
        fields.set("Content-Encoding", detail::name_of(which));
        fields.remove("Content-Length");
        fields.remove("Accept-Ranges");  // of bytes that are not these
        weaken_etag(fields);
        add_vary(fields);
    }

    encoded_requests requests_;
    std::size_t min_size_;
    std::uint64_t max_decoded_bytes_;
    std::vector<coding> offered_;
    std::shared_ptr<workshop> shared_;
};

}  // namespace

middleware compression(compression_options options) {
    return compression_middleware(options);
}

}  // namespace weir::http
