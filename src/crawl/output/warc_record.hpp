// SPDX-License-Identifier: MIT
// Records of WARC 1.1 (ISO 28500), the format of web archives.
#pragma once

#include <weir/crawl/page.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::crawl::detail {

// '<urn:uuid:...>', random.
std::string new_warc_id();
// '2026-11-17T18:56:06.250Z'.
std::string warc_date(timestamp when);
// 'sha1:' and 32 letters of base32, as archives have it.
std::string warc_digest(std::string_view bytes);

using warc_fields = std::vector<std::pair<std::string_view, std::string>>;

// A record: 'WARC/1.1', the fields with Content-Length and the digest of the block, the block.
std::string warc_record(std::string_view type, const warc_fields& fields, std::string_view block);

// The request and the response in the form of HTTP/1.1, also those of HTTP/2. The body is what was
// received, without transfer coding, so Transfer-Encoding is left out and Content-Length is the
// size of the body; a content coding stays, unless only the decoded body is known.
std::string warc_request_block(const page& settled);
std::string warc_response_head(const page& settled);
// The body that belongs to that head.
std::string_view warc_payload(const page& settled) noexcept;

// One member of gzip: members can be cut apart and read one by one.
std::string gzip_member(std::string_view text);

}  // namespace weir::crawl::detail
