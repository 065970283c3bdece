// SPDX-License-Identifier: MIT
// A handler that serves the files of a folder.
//
//     routes.get("/static/{path...}", weir::http::files("/srv/site"));
//
// Nothing outside the folder is ever sent: the kernel resolves paths below it, '..' is refused in
// every spelling, and only regular files are opened. Responses have a Content-Type by the
// extension, an ETag, Last-Modified and a Content-Length; conditional requests and ranges are
// answered according to RFC 9110.
#pragma once

#include <weir/http/handler.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir::http {

// Symbolic links that are followed: none; relative ones that stay below the folder; all.
enum class links : unsigned char { none, inside, anywhere };

struct file_type {
    std::string_view extension;  // 'csv', in lower case
    std::string_view content_type;
};

struct files_options {
    // The path of a request begins with it; empty: with what the route, '/static/{path...}', has
    // before its last parameter.
    std::string_view prefix{};
    std::string_view index = "index.html";  // for '/' and 'folder/'; empty: 404
    links follow = links::inside;
    bool hidden = false;  // serve names that begin with a dot; '.well-known' is always served
    // Send 'a.css.br' or 'a.css.gz' instead of 'a.css' if it exists, is not older, and the client
    // accepts it.
    bool precompressed = false;
    std::string_view cache_control = "no-cache";  // clients revalidate; empty: no header
    std::size_t max_ranges = 16;                  // in one request; 0: ranges are ignored
    // A smaller body is read at once and sent with the head, a larger one in pieces of this size.
    std::size_t piece_size = 64 << 10;
    // Bytes of memory for small files that were sent recently. Each request checks whether the file
    // has changed. 0: no cache.
    std::size_t cache_size = 4 << 20;
    std::span<const file_type> types{};  // take precedence over the built-in types
};

// Answers GET and HEAD; 404 for files that do not exist or are hidden, 403 for files that this
// program may not read. A folder without its final slash is redirected. Ranges that overlap, are
// malformed or too many are ignored: the whole file is sent. The ETag changes with the file; it is
// weak for a second after a change, since the file may change again unnoticed within that second.
// If a file shrinks or is rewritten while it is sent, the connection is closed; data appended
// meanwhile is not sent. The folder is looked up for each request, so it may be a symbolic link
// that is switched to a new version. Throws io_error if the folder does not exist now, and
// invalid_argument for invalid options. Takes the memory of one piece for each request in flight.
// The loop does not wait for the disk. Needs /proc.
handler files(std::string folder, files_options options = {});

}  // namespace weir::http
