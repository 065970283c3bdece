// SPDX-License-Identifier: MIT
// An open file that is to be sent.
#pragma once

#include "http/files/open_beneath.hpp"
#include "http/files/representation.hpp"

#include <weir/http/body.hpp>
#include <weir/io/file.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::http::detail {

// It may still change without another time stamp: those are some milliseconds apart.
bool is_young(const file_facts& facts, std::int64_t now) noexcept;
// Hashed: clients need not know inode numbers. Weak if the file is young.
std::string etag_of(const file_facts& facts, std::int64_t now);

class file_source {
public:
    // Takes the descriptor over.
    file_source(int fd, const std::string& name, const file_facts& facts)
        : file_(fd, name), facts_(facts) {}

    // All of it at once; none if the file has changed meanwhile.
    task<std::optional<std::string>> read(const std::vector<body_piece>& pieces,
                                          std::uint64_t size) const;
    // Piece by piece. Throws http::error if the file changes meanwhile, before the last byte is
    // written: an answer of two versions must not look complete.
    task<> send(body_writer& out, const std::vector<body_piece>& pieces,
                std::size_t piece_size) const;

private:
    bool still_holds() const;

    io::file file_;
    file_facts facts_;
};

}  // namespace weir::http::detail
