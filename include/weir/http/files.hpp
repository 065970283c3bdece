// SPDX-License-Identifier: MIT
// The files of a folder, as a handler.
//
//     routes.get("/static/{path...}", weir::http::files("/srv/site"));
//
// Nothing outside the folder is ever sent: the kernel resolves paths below it, '..' is refused in
// every spelling, and only regular files are opened. Answers have a type by the end of the name, an
// ETag, Last-Modified and a length; conditional requests and ranges are answered as RFC 9110 has
// it.
#pragma once

#include <weir/http/handler.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir::http {

// Which symbolic links are followed: none; those that stay below the folder, absolute ones never;
// all.
enum class links : unsigned char { none, inside, anywhere };

struct file_type {
    std::string_view extension;  // 'csv', in small letters
    std::string_view content_type;
};

struct files_options {
    // Before the paths; empty: what the route has before its last parameter, '/static/{path...}'.
    std::string_view prefix{};
    std::string_view index = "index.html";  // for '/' and 'folder/'; empty: 404
    links follow = links::inside;
    bool hidden = false;  // names that begin with a dot; '.well-known' is sent in any case
    // 'a.css.br' or 'a.css.gz' in place of 'a.css', if it is there, not older, and the client takes
    // it.
    bool precompressed = false;
    std::string_view cache_control = "no-cache";  // ask whether it has changed; empty: no header
    std::size_t max_ranges = 16;                  // in one request; 0: none at all
    // Up to so many bytes are read at once and sent with the head, more in pieces of that size.
    std::size_t piece_size = 64 << 10;
    // Small files that were sent lately are kept in so many bytes of memory. Each time it is looked
    // whether they have changed. 0: none.
    std::size_t cache_size = 4 << 20;
    std::span<const file_type> types{};  // before those that are known anyway
};

// GET and HEAD; 404 for what is not there or not to be seen, 403 for what this program may not
// read. A folder without its slash is redirected to it. Ranges that overlap, are malformed or too
// many are ignored: the file is sent whole. The ETag changes whenever the file does; it is weak for
// a second after a change, within which the file may change again unnoticed. A file that shrinks or
// is rewritten while it is sent breaks the connection off; what is added to it meanwhile is not
// sent. The folder is looked up at each request, so it may be a link that is changed over to a new
// version. Throws io_error if it is not there now, and invalid_argument for options that make no
// sense. Takes the memory of a piece for each request under way. The loop does not wait for the
// disk. Needs /proc.
handler files(std::string folder, files_options options = {});

}  // namespace weir::http
